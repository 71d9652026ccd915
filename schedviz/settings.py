"""Django's settings: secure, and embedded (SQLite, the bundled valkey), unless told otherwise.

Read from the environment, so that every process of one installation agrees:
SCHEDVIZ_DATA (folder of the database, the secret key, the broker's socket), DATABASE_URL, SCHEDVIZ_REDIS_URL,
SCHEDVIZ_ALLOWED_HOSTS, SCHEDVIZ_HTTPS, SCHEDVIZ_TRUST_PROXY, SCHEDVIZ_DEBUG, SCHEDVIZ_DEMO, SCHEDVIZ_RING_*,
SCHEDVIZ_SAMPLE_NODES, SCHEDVIZ_EXTENDER_TOKEN.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from urllib.parse import quote

import dj_database_url
from csp.constants import NONE, SELF

from schedviz.environment import (
    broker_url,
    data_folder,
    flag,
    number,
    secret_key,
    without_trace,
    words,
)

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_folder(os.environ.get("SCHEDVIZ_DATA") or BASE_DIR / "var")

# ---- who may talk to us ----------------------------------------------------------------------------------------------

LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
PUBLIC_HOSTS = words("SCHEDVIZ_ALLOWED_HOSTS")
ALLOWED_HOSTS = [*LOOPBACK_HOSTS, *PUBLIC_HOSTS]
DEBUG = flag("SCHEDVIZ_DEBUG")
DEMO = flag("SCHEDVIZ_DEMO")
"""Logs the demo operator in, for requests from this machine only (see web.middleware)."""
EXTENDER_TOKEN = os.environ.get("SCHEDVIZ_EXTENDER_TOKEN", "")
"""With it the extenders that we serve answer to other machines, too."""
HTTPS = flag("SCHEDVIZ_HTTPS", bool(PUBLIC_HOSTS))
"""Pages go over HTTPS: on as soon as a host beside loopback is allowed. SCHEDVIZ_HTTPS=0 is for a decision."""

SECRET_KEY = secret_key(DATA_DIR)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME = "schedviz_session"
CSRF_COOKIE_NAME = "schedviz_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in PUBLIC_HOSTS if host != "*"] if HTTPS else []
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = ["^healthz$"]
SECURE_HSTS_SECONDS = 31536000 if HTTPS else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",
    "security.W021",  # HSTS for other hosts is not ours to say
    "axes.W001",  # tries are counted a web process: see AXES_HANDLER
]
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if flag("SCHEDVIZ_TRUST_PROXY") else None
)
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", MODEL_BACKEND]
# Ten wrong passwords for one name from one address, and no password is tried for it from there for ten minutes. Kept in
# the web process's memory: an attack fills no table.
AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = datetime.timedelta(minutes=10)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# ---- what we are made of ---------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "channels",
    "axes",
    "schedviz.web",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "schedviz.web.middleware.DemoLoginMiddleware",
    "schedviz.web.middleware.LoginMiddleware",
    "schedviz.web.middleware.OneTimePasswordMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "schedviz.urls"
ASGI_APPLICATION = "schedviz.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [path for path in [BASE_DIR / "static"] if path.is_dir()]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

# ---- the database ----------------------------------------------------------------------------------------------------

# No ATOMIC_REQUESTS: with SQLite every page view would take the write lock. `actions` and `recording` open their own
# transactions. synchronous=FULL: a record must be on the disk before its Bind is sent.
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456; "
    "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=4000;"
)
DATABASES = {
    "default": dj_database_url.parse(
        os.environ.get("DATABASE_URL") or f"sqlite:///{quote(str(DATA_DIR))}/db.sqlite3",
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": SQLITE_PRAGMAS,
    }

# What the record keeps, a session. Detail (each plugin's answer for each node) is dropped first; summaries live
# RING_SUMMARY_FACTOR times longer, and all of it together stays below RING_MB.
RING_CYCLES = number("SCHEDVIZ_RING_CYCLES", 50_000)
RING_HOURS = number("SCHEDVIZ_RING_HOURS", 72)
RING_MB = number("SCHEDVIZ_RING_MB", 1024)
RING_SUMMARY_FACTOR = 4
SAMPLE_NODES = flag("SCHEDVIZ_SAMPLE_NODES")
"""Stop looking at nodes when enough are found, as kube-scheduler does in large clusters (percentageOfNodesToScore).
Off: each cycle looks at every node, so that its record is whole."""

# ---- broker and channel layer ----------------------------------------------------------------------------------------

REDIS_URL = os.environ.get("SCHEDVIZ_REDIS_URL") or f"unix://{DATA_DIR / 'valkey.sock'}"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "schedviz"},
    }
}
CELERY_BROKER_URL = broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_keepalive": True,
    "health_check_interval": 10,
    "retry_on_timeout": True,
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = TIME_ZONE

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s", "datefmt": "%H:%M:%S"}
    },
    "filters": {
        "short": {"()": "django.utils.log.CallbackFilter", "callback": without_trace},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["short"]}
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"schedviz": {"level": "DEBUG" if DEBUG else "INFO"}},
}
