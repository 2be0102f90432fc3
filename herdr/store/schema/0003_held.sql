-- A candidate whose scores were made while somebody wrote to what is linked: no verdict until a person decides.
ALTER TABLE candidates ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));
CREATE INDEX held_candidates ON candidates (run_id) WHERE held = 1;
