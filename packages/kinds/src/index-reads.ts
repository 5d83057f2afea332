import { LooseleafError, type Fate } from '@looseleaf/core'
import {
  badArgument,
  checkOptions,
  KIND_PROPERTY,
  optionKinds,
  withCallbacks,
  type FateOptions,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { IndexDefinition, QueryOptions } from '@looseleaf/index-engine'
import { MAX_LIMIT, type GetAllOptions } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { optionsOf, type QueryManyOptions } from '@looseleaf/store/internal'
import type { IndexOf, Page, PageWithCount } from './collection.ts'
import type { UntypedEntities } from './entities.ts'
import { conditionOn } from './intersect.ts'
import { createItemReader, type ItemReader } from './matching-items.ts'
import { parsePatch } from './patch.ts'
import type { Item, Shape } from './shape.ts'
import { changeWhere, type ChangedWhere, type ChangeWhereOptions } from './where-changes.ts'

const { onUnavailable: _, ...EACH } = optionsOf.query

/** The query of each page checks the options that are marked `elsewhere`. */
const CHANGE_WHERE: OptionKinds<ChangeWhereOptions> = {
  signal: optionKinds.signal,
  order: optionKinds.elsewhere,
  scatter: optionKinds.elsewhere,
  cursor: optionKinds.elsewhere,
  onDamaged: optionKinds.elsewhere,
  onProgress: optionKinds.function,
}

/**
 * Creates the calls of one index of a kind. Untyped: `IndexOf` adds the types. `hidden` is a property of its rows that the program has not
 * included, so `list` removes it.
 */
export function createIndexReads(
  store: DataStore,
  shape: Shape,
  definition: IndexDefinition,
  writes: UntypedEntities,
  hidden: string | undefined,
): IndexOf<object, readonly never[]> {
  const readItems = createItemReader(shape, store.context.onWarning)
  const readerFor = (where: unknown): ItemReader => readItems([{ index: definition, where }])

  async function readPage(where: unknown, options: QueryOptions): Promise<Page<object>> {
    const itemsOf = readerFor(where)
    const found = await store.query(definition, where as object, options)
    return { ...found, items: itemsOf(found.items) }
  }

  async function pageMany(
    wheres: readonly unknown[],
    options: QueryManyOptions = {},
  ): Promise<PageWithCount<object>[]> {
    checkOptions('pageMany', options, optionsOf.queryMany)
    if (!Array.isArray(wheres)) throw badArgument('pageMany', 'an array of conditions', wheres)
    const readers = wheres.map((where) => readerFor(where))
    const pages = await store.queryMany(definition, wheres as readonly object[], options)
    // With `count: true` the pages have counts; the type of the call tells.
    return pages.map((found, i) => ({
      ...found,
      items: readers[i]!(found.items),
    })) as unknown as PageWithCount<object>[]
  }

  async function first(where: unknown, options: GetAllOptions): Promise<Item<object> | undefined> {
    let cursor: string | undefined
    let limit = 1
    do {
      const found = await readPage(where, { ...options, limit, ...(cursor !== undefined && { cursor }) })
      if (found.items.length > 0) return found.items[0]
      // A page may be empty although items follow: it reached a bound, or no item on it matches as it is read.
      cursor = found.cursor
      limit = Math.min(2 * limit, MAX_LIMIT)
    } while (cursor !== undefined)
    return undefined
  }

  async function change(
    call: string,
    where: unknown,
    options: ChangeWhereOptions,
    work: (found: readonly Item<object>[], options: FateOptions) => Promise<Fate<boolean>[]>,
  ): Promise<ChangedWhere> {
    checkOptions(call, options, CHANGE_WHERE)
    const each: FateOptions = { fates: true, signal: options.signal }
    return store.holdOpen(() =>
      withCallbacks(options, (wrapped) =>
        changeWhere(
          (paging) => readPage(where, paging),
          (found) => work(found, each),
          wrapped,
        ),
      ),
    )
  }

  return {
    definition,
    isReady: () => store.isReady(definition),
    condition: (where, options) => conditionOn(definition, where, options),
    async page(where, options = {}) {
      checkOptions('page', options, optionsOf.query)
      return readPage(where, options)
    },
    pageMany,
    async all(where, options = {}) {
      checkOptions('all', options, optionsOf.getAll)
      const itemsOf = readerFor(where)
      return itemsOf(await store.getAll(definition, where as object, options))
    },
    async first(where, options = {}) {
      checkOptions('first', options, optionsOf.getAll)
      return store.holdOpen(() => first(where, options))
    },
    async *each(where, options = {}) {
      checkOptions('each', options, EACH)
      let { cursor } = options
      do {
        const found = await readPage(where, { ...options, ...(cursor !== undefined && { cursor }) })
        yield* found.items
        cursor = found.cursor
      } while (cursor !== undefined)
    },
    async list(where, options = {}) {
      checkOptions('list', options, optionsOf.list)
      if (definition.include === undefined) {
        throw new LooseleafError(
          'BAD_QUERY',
          `Index ${definition.name} includes no properties, so it cannot list them: add \`include\` to its definition, or use \`page\`.`,
        )
      }
      const found = await store.list(definition, where as object, options)
      // Rows include the properties of `on`, so also the name of the kind.
      const items = found.items.map(({ [KIND_PROPERTY]: _, ...item }) => item)
      if (hidden === undefined) return { ...found, items }
      return {
        ...found,
        items: items.map(
          ({ [hidden]: _, ...item }: Record<string, unknown>) => item as (typeof items)[number],
        ),
      }
    },
    async ids(where, options = {}) {
      checkOptions('ids', options, optionsOf.queryIds)
      return store.queryIds(definition, where as object, options)
    },
    count: (where, options) => store.count(definition, where as object, options),
    countMany: (wheres, options) => store.countMany(definition, wheres as readonly object[], options),
    explain: (where, options = {}) => store.explain(definition, where as object, options),
    async updateWhere(where, patch, options = {}) {
      parsePatch('updateWhere', patch, shape)
      return change('updateWhere', where, options, async (found, each) => {
        const fates = (await writes.updateMany(found, patch, each)) as Fate<Item<object>>[]
        // An unchanged entity keeps its version.
        return fates.map((fate, i) =>
          fate.ok ? { ok: true, value: fate.value.version !== found[i]!.version } : fate,
        )
      })
    },
    deleteWhere: (where, options = {}) =>
      change(
        'deleteWhere',
        where,
        options,
        async (found, each) => (await writes.deleteMany(found, each)) as Fate<boolean>[],
      ),
  }
}
