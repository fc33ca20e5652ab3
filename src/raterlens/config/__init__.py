"""Requests as frozen records: how to read a table, and what to fit to it.

Every surface (Python, the command line, the web app, scikit-learn, the gate, studies) builds these records, a fit keeps
the one it came from, and `fit.refit(**changes)` fits again by it. Options and their defaults stand here and
nowhere else. What depends on the data (does the rater exist?) or on the model (does it take this option?) is checked
where that is known, before any work.
"""

from raterlens.config.fit_config import FIT_OPTIONS as FIT_OPTIONS
from raterlens.config.fit_config import Anchors as Anchors
from raterlens.config.fit_config import ColumnOptions as ColumnOptions
from raterlens.config.fit_config import CovarianceKind as CovarianceKind
from raterlens.config.fit_config import EarlierScale as EarlierScale
from raterlens.config.fit_config import Fair as Fair
from raterlens.config.fit_config import FitConfig as FitConfig
from raterlens.config.fit_config import FitOptions as FitOptions
from raterlens.config.fit_config import GroupMeansKind as GroupMeansKind
from raterlens.config.fit_config import HaloKind as HaloKind
from raterlens.config.fit_config import LinkName as LinkName
from raterlens.config.fit_config import Method as Method
from raterlens.config.fit_config import Prior as Prior
from raterlens.config.fit_config import Scale as Scale
from raterlens.config.fit_config import SharedKind as SharedKind
from raterlens.config.fit_config import fit_config as fit_config
from raterlens.config.read_config import BESIDES as BESIDES
from raterlens.config.read_config import COLUMN_ROLES as COLUMN_ROLES
from raterlens.config.read_config import READ_OPTIONS as READ_OPTIONS
from raterlens.config.read_config import ROW as ROW
from raterlens.config.read_config import Columns as Columns
from raterlens.config.read_config import ReadConfig as ReadConfig
from raterlens.config.read_config import marker_patterns as marker_patterns
from raterlens.config.read_config import pattern_fields as pattern_fields
