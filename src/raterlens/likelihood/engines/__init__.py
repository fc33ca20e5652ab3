"""Engines turn a model's tables into the marginal log-likelihood and expected counts.

    loglik = sum_n log sum_q exp( w_q + sum_c X_nc T_cq + t_q sum_l Z_nl b_l )

X (students x cells) says how often student n has rating cell c, T is the model's log-probability of a cell at
ability node t_q, and the last term carries models in which part of the log-probability is linear in ability,
so that a student's ratings enter it as sums. By Fisher's identity the gradient of any model is
`sum_cq C_cq dT_cq + sum_l D_l db_l` with the expected counts C = X' posterior and D = Z' E[ability].
"""
