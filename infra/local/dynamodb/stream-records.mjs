/**
 * Mends the stream records of the database file in the first argument: adds the index that the server lacks, and
 * deletes records older than a day but the last one of each table, from which the server counts on. Runs while the
 * server has no other work.
 */
import { DatabaseSync } from "node:sqlite";

const keptSeconds = 24 * 60 * 60;
const database = new DatabaseSync(process.argv[2] ?? "", { timeout: 5000 });
database.exec(`
  CREATE INDEX IF NOT EXISTS runner_stream_sequence
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))`);
database
  .prepare(`
    DELETE FROM _stream_records WHERE created_at < ? AND id NOT IN (
      SELECT MAX(id) FROM _stream_records GROUP BY table_name)`)
  .run(Math.floor(Date.now() / 1000) - keptSeconds);
database.close();
