import MiniSearch from 'minisearch'
import type { DataStore, EntityId } from 'looseleaf'

export interface Search {
  /** Ids of the entities whose title or text has these words, the best first. */
  find(words: string): readonly EntityId[]
  /** Resolves when the changes have ended, which they do with the signal. */
  readonly ended: Promise<void>
}

/**
 * A search engine in memory. It begins with the whole store whenever the process starts, so it needs no place that is kept: one
 * that outlives the process would `consume`.
 */
export function startSearch(store: DataStore, signal: AbortSignal): Search {
  const engine = new MiniSearch<{ id: string; title?: unknown; text?: unknown }>({
    fields: ['title', 'text'],
  })
  const follow = async (): Promise<void> => {
    for await (const { id, entity } of store.changes({ from: 'beginning', signal })) {
      // Whatever comes is the last state, so nothing has to be known of those before.
      if (engine.has(id)) engine.discard(id)
      if (entity !== undefined) engine.add({ id, title: entity['title'], text: entity['text'] })
    }
  }
  const ended = follow().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return { find: (words) => engine.search(words).map(({ id }) => id as EntityId), ended }
}
