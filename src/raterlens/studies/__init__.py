"""The paper's studies and those it left for later: their replications, figures and pages."""
