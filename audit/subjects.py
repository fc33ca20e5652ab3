"""All that is tried."""

from audit import commands, damaged_files, interrupted_runs, small_designs, web_requests, wrong_options
from audit.subject import Subject

_MODULES = (damaged_files, small_designs, commands, wrong_options, interrupted_runs, web_requests)
SUBJECTS: dict[str, Subject] = {module.SUBJECT.name: module.SUBJECT for module in _MODULES}
