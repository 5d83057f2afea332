import MiniSearch from 'minisearch'
import type { DataStore, EntityId } from 'looseleaf'

export interface Search {
  /** Returns the ids of entities whose title or text contains these words, best match first. */
  find(words: string): readonly EntityId[]
  /** Resolves after the signal has aborted. Rejects if reading changes fails. */
  readonly ended: Promise<void>
}

/**
 * Starts a search engine in memory. It reads the whole store at each start of the process, so it needs no stored cursor. An engine that
 * outlives the process would use `consume`.
 */
export function startSearch(store: DataStore, signal: AbortSignal): Search {
  const engine = new MiniSearch<{ id: string; title?: unknown; text?: unknown }>({
    fields: ['title', 'text'],
  })
  const follow = async (): Promise<void> => {
    for await (const { id, entity } of store.changes({ from: 'beginning', signal })) {
      // A change has the last state of its entity, so it replaces whatever the engine has.
      if (engine.has(id)) engine.discard(id)
      if (entity !== undefined) engine.add({ id, title: entity['title'], text: entity['text'] })
    }
  }
  return { find: (words) => engine.search(words).map(({ id }) => id as EntityId), ended: follow() }
}
