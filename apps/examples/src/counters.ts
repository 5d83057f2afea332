import { DatabaseSync } from 'node:sqlite'
import type { Handler } from 'looseleaf'

/**
 * Counts the entities with each tag in another database. A change may arrive twice and is counted once: the transaction that updates the
 * counts also stores the entity's version and counted tags.
 */
export class TagCounts {
  readonly #database: DatabaseSync

  constructor(file = ':memory:') {
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS counts (tag TEXT PRIMARY KEY, count INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS counted (id TEXT PRIMARY KEY, version INTEGER NOT NULL, tags TEXT NOT NULL)`)
  }

  /** Handler for `consume`. */
  readonly handle: Handler = ({ id, version, entity }) => {
    const known = this.#database.prepare('SELECT version, tags FROM counted WHERE id = ?').get(id)
    // This change is older than the counted one, or is the same again.
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
