-- How each project's checkout looked when the daemon last looked, so that a change is told once, also after a restart.

CREATE TABLE checkouts (
    project_id INTEGER PRIMARY KEY REFERENCES projects (id),
    looked_at TEXT NOT NULL,                                  -- agents that lived since then may have changed it
    state TEXT NOT NULL CHECK (json_valid(state)),            -- HEAD, refs, files of .git, tracked files that differ
    in_force TEXT,                                            -- which settings of git's are in force, by their hash
    settings TEXT CHECK (settings IS NULL OR json_valid(settings))  -- the ones that were seen last
) STRICT;
