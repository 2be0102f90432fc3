"""The configuration of our own tmux server."""

from __future__ import annotations

#: `window-size manual` is set on each agent's window as it opens, never here: tmux 3.3 crashes at the next new
#: window when it is a global option. `detach-on-destroy` stays on, or the control client of a session that was
#: killed would silently move to another one.
_CONF = """\
# Written by herdr at each start of its tmux server; changes here are lost. It is read by no other tmux.
set -s exit-empty off
set -s escape-time 10
set -s message-limit 0
set -s extended-keys on
set -g default-terminal tmux-256color
set -g update-environment ""
set -g destroy-unattached off
set -g detach-on-destroy on
set -g history-limit {history}
set -g mouse on
set -g set-titles on
set -g set-titles-string "#S: #W"
set -g status-interval 5
set -g status-style "bg=colour236,fg=colour250"
set -g status-left-length 40
set -g status-left "#[bold] #S #[default] "
set -g status-right-length 70
set -g status-right "#{{?pane_in_mode,#[fg=colour214]scrolled back#[default]  ,}}#{{=50:pane_title}} "
set -g window-status-format " #W "
set -g window-status-current-format "#[fg=colour231,bg=colour24] #W "
set -g window-status-separator ""
set -g -w remain-on-exit on
set -g -w allow-rename off
set -g -w automatic-rename off
bind-key c new-window -c "#{{pane_current_path}}" \\; set-option -w remain-on-exit off
"""


def conf_text(history: int) -> str:
    """Write the configuration.

    Args:
        history: lines that each pane keeps above its screen.
    """
    return _CONF.format(history=history)
