import { isLooseleafError, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { elapsedBy, type CatalogEntry } from '@looseleaf/core/internal'
import {
  findStandIn,
  isPaused,
  sameRows,
  type EngineContext,
  type ServingEntry,
} from '@looseleaf/index-engine/internal'
import { LayoutChanged } from './layout-changed.ts'

/** Finds the catalog entries that serve the definitions of queries. */
export interface ReadyIndexes {
  /**
   * Calls `work` with the entries of definitions. If a table was dropped since the catalog was read, reads the catalog and calls `work`
   * once more; calls it again after `LayoutChanged` too. With `mayStandIn` an older generation serves for one that is being filled. Throws `INDEX_NOT_FOUND` and `INDEX_NOT_READY`.
   */
  onIndexes<T>(
    definitions: readonly IndexDefinitionData[],
    mayStandIn: boolean,
    work: (entries: readonly ServingEntry[]) => Promise<T>,
  ): Promise<T>
}

/** Milliseconds between two reads of the catalog while another generation stands in for a building index. */
const RELOAD_INTERVAL_MS = 1_000

/** Returns true if the catalog in memory has the index as ready. Asks no database. */
export function isKnownReady(context: EngineContext, definition: IndexDefinitionData): boolean {
  return isReady(entryOf(context, definition))
}

export function createReadyIndexes(context: EngineContext): ReadyIndexes {
  const now = elapsedBy(context.time)
  let reloadedAt = -Infinity
  function standInFor(entry: CatalogEntry | undefined): ServingEntry | undefined {
    if (entry?.state !== 'building' || entry.hidden) return undefined
    return findStandIn(entry, context.catalog.current().indexes)
  }

  async function readyEntry(definition: IndexDefinitionData, mayStandIn: boolean): Promise<ServingEntry> {
    if (mayStandIn && now() - reloadedAt < RELOAD_INTERVAL_MS) {
      const standIn = standInFor(entryOf(context, definition))
      if (standIn !== undefined) return standIn
    }
    await context.catalog.reload()
    reloadedAt = now()
    const entry = entryOf(context, definition)
    const { indexes, silent } = context.catalog.current()
    // A shard that does not answer may have it.
    if (entry === undefined) throw silent[0] ?? indexNotFound(definition, indexes)
    if (isReady(entry)) return entry
    const standIn = mayStandIn ? standInFor(entry) : undefined
    if (standIn === undefined) throw notReady(entry)
    return standIn
  }

  /** Returns undefined if an index is not known to be ready, so that the catalog has to be read. */
  function knownEntries(definitions: readonly IndexDefinitionData[]): readonly CatalogEntry[] | undefined {
    const entries = definitions.map((definition) => entryOf(context, definition))
    return entries.every(isReady) ? entries : undefined
  }

  async function readyEntries(
    definitions: readonly IndexDefinitionData[],
    mayStandIn: boolean,
  ): Promise<readonly ServingEntry[]> {
    const entries: ServingEntry[] = []
    for (const definition of definitions) {
      const entry = entryOf(context, definition)
      entries.push(isReady(entry) ? entry : await readyEntry(definition, mayStandIn))
    }
    return entries
  }

  async function onIndexes<T>(
    definitions: readonly IndexDefinitionData[],
    mayStandIn: boolean,
    work: (entries: readonly ServingEntry[]) => Promise<T>,
  ): Promise<T> {
    const planAgain = (error: unknown): Promise<T> => {
      if (error instanceof LayoutChanged) return onIndexes(definitions, mayStandIn, work)
      throw error
    }
    const entries = knownEntries(definitions) ?? (await readyEntries(definitions, mayStandIn))
    try {
      return await work(entries)
    } catch (error) {
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) return planAgain(error)
      await context.catalog.reload()
      const reloaded = await readyEntries(definitions, mayStandIn)
      if (reloaded.some(({ table }, i) => table !== entries[i]?.table)) return work(reloaded).catch(planAgain)
      throw new LooseleafError(
        'INDEX_NOT_FOUND',
        `${error.message} Open the store with \`migrate: true\`, or run \`looseleaf init\`, to fill the index anew.`,
        { shard: error.shard, cause: error },
      )
    }
  }

  return { onIndexes }
}

function entryOf({ catalog }: EngineContext, definition: IndexDefinitionData): CatalogEntry | undefined {
  return catalog
    .current()
    .indexes.find((entry) => !entry.unique && entry.state !== 'retiring' && sameRows(entry, definition))
}

function isReady(entry: CatalogEntry | undefined): entry is CatalogEntry {
  return entry?.state === 'ready' && !entry.hidden
}

/** Makes the error for a query of an index that is not ready. */
export function notReady(entry: CatalogEntry): LooseleafError {
  const { name, generation, state, hidden } = entry
  const why = hidden
    ? `hidden, as before a drop: bring it back with \`looseleaf index restore ${name} --generation ${generation}\` or \`store.restoreIndex\`.`
    : isPaused(entry)
      ? `${state}, and its filling is paused: resume it (\`looseleaf index resume ${name}\`), and query the index when it is filled.`
      : `${state}: it can be queried when a cleaner has filled it (\`startCleaner\`, or \`cleanIndex\` for this one now).`
  return new LooseleafError('INDEX_NOT_READY', `Index ${name} is ${why}`)
}

function indexNotFound(definition: IndexDefinitionData, known: readonly CatalogEntry[]): LooseleafError {
  const others = known.filter((entry) => entry.name === definition.name)
  if (others.some((entry) => entry.state === 'retiring' && sameRows(entry, definition))) {
    return new LooseleafError('INDEX_NOT_FOUND', `Index ${definition.name} is being dropped.`)
  }
  const message =
    others.length === 0
      ? `The store has no index ${definition.name}. It has: ${[...new Set(known.map(({ name }) => name))].join(', ') || 'none'}.`
      : `The store has an index ${definition.name}, but with another definition than the one given.`
  return new LooseleafError(
    'INDEX_NOT_FOUND',
    `${message} Add it with \`store.addIndex\`, or open with \`migrate: true\`.`,
  )
}
