"""KubeSchedulerConfiguration v1: read strictly, completed with every default, validated, and written out again.

Read by `profile`, which makes the plugins, and by whoever shows or checks a configuration. Mirrors
pkg/scheduler/apis/config (v1.36): the same fields, defaults and complaints. Text comes in; no file is opened here.

    text -> documents | json_text -> decoding -> defaults -> validation -> loading.SchedulerConfig -> effective
"""

from schedviz.scheduler.config.errors import ConfigError, Problem, aggregate
from schedviz.scheduler.config.extenders import ExtenderConfig
from schedviz.scheduler.config.loading import SchedulerConfig, from_object, load
from schedviz.scheduler.config.plugin_args import LATE, argument_problems
from schedviz.scheduler.config.plugin_sets import (
    DEFAULT_FEATURES,
    DEFAULT_MULTI_POINT,
    DEFAULT_SCHEDULER_NAME,
    Enabled,
    PluginSet,
    ProfileConfig,
    features,
    field_of,
)

__all__ = [
    "DEFAULT_FEATURES",
    "DEFAULT_MULTI_POINT",
    "DEFAULT_SCHEDULER_NAME",
    "LATE",
    "ConfigError",
    "Enabled",
    "ExtenderConfig",
    "PluginSet",
    "Problem",
    "ProfileConfig",
    "SchedulerConfig",
    "aggregate",
    "argument_problems",
    "features",
    "field_of",
    "from_object",
    "load",
]
