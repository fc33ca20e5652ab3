"""The paper's studies and ours: their replications, figures and pages."""
