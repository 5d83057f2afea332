import { DatabaseSync } from 'node:sqlite'
import type { Handler } from 'looseleaf'

/**
 * How many entities have each tag, in tables of another database. A change may come twice, and is counted once: what was counted of an entity is kept with its version,
 * in the same transaction as the counts.
 */
export class TagCounts {
  readonly #database: DatabaseSync

  constructor(file = ':memory:') {
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS counts (tag TEXT PRIMARY KEY, count INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS counted (id TEXT PRIMARY KEY, version INTEGER NOT NULL, tags TEXT NOT NULL)`)
  }

  /** For `consume`. */
  readonly handle: Handler = ({ id, version, entity }) => {
    const known = this.#database.prepare('SELECT version, tags FROM counted WHERE id = ?').get(id)
    // Older than what was counted, or the same once more.
    if (known !== undefined && Number(known['version']) >= version) return
    const tags = Array.isArray(entity?.['tags']) ? entity['tags'].map(String) : []
    const before = known === undefined ? [] : (JSON.parse(String(known['tags'])) as string[])
    this.#database.exec('BEGIN')
    try {
      for (const tag of before) this.#add(tag, -1)
      for (const tag of tags) this.#add(tag, 1)
      this.#database
        .prepare('INSERT OR REPLACE INTO counted (id, version, tags) VALUES (?, ?, ?)')
        .run(id, version, JSON.stringify(tags))
      this.#database.exec('COMMIT')
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  of(tag: string): number {
    return Number(this.#database.prepare('SELECT count FROM counts WHERE tag = ?').get(tag)?.['count'] ?? 0)
  }

  close(): void {
    this.#database.close()
  }

  #add(tag: string, count: number): void {
    this.#database
      .prepare(
        'INSERT INTO counts (tag, count) VALUES (?, ?) ON CONFLICT (tag) DO UPDATE SET count = count + excluded.count',
      )
      .run(tag, count)
  }
}
