"""The built-in plugin that composes briefs: what an agent is told before it starts."""

from __future__ import annotations

from herdr.api import BriefContext, hookimpl


@hookimpl
def herdr_brief(context: BriefContext) -> str | None:
    """Compose the brief of an agent; None for a role that has no template here or in the project.

    Raises:
        BriefError: a template of the project is broken, or the templates alone are longer than a brief may be.
    """
    # Listing the plugins must not pay for jinja2.
    from herdr_briefs.compose import compose

    return compose(context)
