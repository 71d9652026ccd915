"""Extenders that we serve: the four verbs for schedulers, and the pages with their rules and last requests for people.

A scheduler asks with POST and JSON, from this machine or with SCHEDVIZ_EXTENDER_TOKEN (Bearer, or as the password in
the extender's URL). A page in a browser cannot: it would have to send JSON to another site, which browsers ask us about
first.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from schedviz.web import actions, extender_rules, permissions, readers
from schedviz.web.extender_log import LOG, SHOWN_CHARACTERS, Exchange
from schedviz.web.extender_rules import CannotAnswer
from schedviz.web.middleware import from_this_machine
from schedviz.web.views.parts import digest, is_known, nothing_new

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import ExtenderRules

LARGEST_REQUEST = 64 << 20
LARGEST_ARRANGED = 64 << 10
FORBIDDEN = (
    "this extender answers to this machine only; to ask from elsewhere, set SCHEDVIZ_EXTENDER_TOKEN "
    "and put it into the URL: https://x:TOKEN@host/extender/name"
)


# ---- for schedulers ------------------------------------------------------------------------------------------------


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def extender_ask(request: HttpRequest, name: str, verb: str) -> HttpResponse:
    """One of the four verbs."""
    if not _may_ask(request):
        return JsonResponse({"Error": FORBIDDEN}, status=403)
    if request.content_type != "application/json":
        return JsonResponse({"Error": "send application/json"}, status=415)
    rules = readers.extender_rules(name)
    if rules is None:
        return JsonResponse({"Error": f"there is no extender {name!r} here"}, status=404)
    body = request.read(LARGEST_REQUEST + 1)
    if len(body) > LARGEST_REQUEST:
        return JsonResponse({"Error": "the request is too large"}, status=413)
    began = time.perf_counter()
    asked, answer, status = _answered(rules, verb, body)
    said = orjson.dumps(answer)
    LOG.note(
        name,
        Exchange(
            LOG.next_number(),
            verb,
            _pod_of(asked),
            status,
            str(answer.get("Error") or "") if isinstance(answer, dict) else "",
            _shown(body, asked),
            _shown(said, answer),
            len(body),
            len(said),
            time.perf_counter() - began,
        ),
    )
    return HttpResponse(said, content_type="application/json", status=status)


def _answered(rules: ExtenderRules, verb: str, body: bytes) -> tuple[Any, Any, int]:
    """(the request as data, the answer, the status)."""
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return None, {"Error": f"the request is not JSON: {error}"}, 400
    try:
        return asked, extender_rules.read(rules.text).answer(verb, asked), 200
    except CannotAnswer as error:
        # prioritize has no place for an error but the status.
        return asked, {"Error": str(error)}, 400 if verb == "prioritize" else 200


def _shown(body: bytes, data: Any) -> str:
    """Its beginning, arranged for reading unless it is long."""
    if data is not None and len(body) <= LARGEST_ARRANGED:
        body = orjson.dumps(data, option=orjson.OPT_INDENT_2)
    return body[:SHOWN_CHARACTERS].decode(errors="replace")


def _may_ask(request: HttpRequest) -> bool:
    token = settings.EXTENDER_TOKEN
    return from_this_machine(request) or bool(
        token and hmac.compare_digest(_secret(request), token.encode())
    )


def _secret(request: HttpRequest) -> bytes:
    """The token, or the password, that came along."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.encode()
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


def _pod_of(asked: Any) -> str:
    """ "namespace/name" of the pod that was asked about, as far as that can be told."""
    if not isinstance(asked, dict):
        return ""
    if "PodName" in asked:
        return f"{asked.get('PodNamespace')}/{asked['PodName']}"[:200]
    meta = (asked.get("Pod") or {}).get("metadata") if isinstance(asked.get("Pod"), dict) else None
    return (
        f"{meta.get('namespace', '')}/{meta.get('name', '')}"[:200]
        if isinstance(meta, dict)
        else ""
    )


# ---- for people ----------------------------------------------------------------------------------------------------


@permissions.require("extender.view")
@never_cache
@require_safe
def extenders(request: HttpRequest) -> HttpResponse:
    rows = [(one, LOG.of(one.name)[:1]) for one in readers.extenders_list()]
    return render(request, "extenders/list.html", {"tab": "extenders", "rows": rows})


@permissions.require("extender.view")
@never_cache
@require_safe
def extender(request: HttpRequest, name: str) -> HttpResponse:
    """Its rules, and its last requests as they come in."""
    rules = _find(name)
    exchanges = LOG.of(name)
    version = digest(rules.text, [one.number for one in exchanges[:1]])
    if is_known(request, version):
        return nothing_new()
    url = request.build_absolute_uri(f"/extender/{name}")
    return _page(request, rules.text, name=name, exchanges=exchanges, version=version, url=url)


@permissions.require("extender.edit")
@require_POST
def extender_save(request: HttpRequest, name: str = "") -> HttpResponse:
    """New rules, or rules anew; what is wrong with them is said above them."""
    name, text = name or request.POST.get("name", ""), request.POST.get("text", "")
    try:
        actions.extender_save(request.user, name, text)
    except actions.Refused as error:
        if readers.extender_rules(name) is None:
            rows = [(one, LOG.of(one.name)[:1]) for one in readers.extenders_list()]
            context = {"tab": "extenders", "rows": rows, "error": str(error), "name": name}
            return render(request, "extenders/list.html", context, status=422)
        return _page(request, text, name=name, error=str(error), status=422)
    return redirect("extender", name)


@permissions.require("extender.edit")
@require_POST
def extender_delete(request: HttpRequest, name: str) -> HttpResponse:
    actions.extender_delete(request.user, name)
    LOG.forget(name)
    return redirect("extenders")


def _page(request: HttpRequest, text: str, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {"tab": "extenders", "text": text, "verbs": extender_rules.VERBS, **more}
    context["most"] = SHOWN_CHARACTERS
    return render(request, "extenders/page.html", context, status=status)


def _find(name: str) -> ExtenderRules:
    rules = readers.extender_rules(name)
    if rules is None:
        raise Http404(f"There is no extender {name!r} here.")
    return rules
