import { isLooseleafError, metaOf, type EntityId } from '@looseleaf/core'
import type { PutResult } from '@looseleaf/store'
import type { Operation } from '../history/evidence.ts'
import type { Act, ClientOptions } from './client.ts'
import { newBag } from './new-bag.ts'

/** An item of a batch, as its own operation of the history. */
interface Item {
  readonly operation: Operation
  readonly id: EntityId
  /** Version that it expects. */
  readonly base?: number | undefined
  readonly call: Parameters<ClientOptions['store']['batch']>[0][number]
}

/** Writes several entities at once, all or none. Now and then one of them has to have the version that was read. */
export const batch: Act = async (options, first) => {
  const { history, ids, random, store } = options
  const chosen = ids.filter(() => random.chance(0.5))
  if (chosen.length === 0) chosen.push(random.pick(ids))
  const items: Item[] = []
  for (const [i, id] of chosen.entries())
    items.push(await itemOf(options, i === 0 ? first : history.begin(store), id))
  // A tombstone has no bag that names its operation.
  history.batched(items.filter(({ call }) => !('delete' in call)).map(({ operation }) => operation))
  try {
    const results = await store.batch(items.map(({ call }) => call))
    for (const [i, { operation, id, base }] of items.entries()) {
      const result = results[i]
      if (typeof result === 'boolean') history.deleted(operation, id, result)
      else history.acknowledged(operation, id, (result as PutResult).version, base)
    }
  } catch (error) {
    report(options, items, error)
  }
}

async function itemOf(options: ClientOptions, operation: Operation, id: EntityId): Promise<Item> {
  const { random, store } = options
  const bag = newBag(options, operation)
  switch (random.below(6)) {
    case 0:
      return { operation, id, base: 0, call: { insert: bag, id } }
    case 1:
      return { operation, id, call: { delete: id } }
    case 2: {
      const found = await store.get(id)
      const base = (found && metaOf(found)?.version) ?? 0
      return { operation, id, base, call: { put: bag, id, ifVersion: base } }
    }
    case 3:
      return { operation, id, call: { update: id, edit: (before) => ({ ...before, ...bag }) } }
    default:
      return { operation, id, call: { put: bag, id } }
  }
}

/** Reports that none of the items took place, or that the outcome is unknown. */
function report({ history }: ClientOptions, items: readonly Item[], error: unknown): void {
  if (!isLooseleafError(error)) throw error
  for (const { operation } of items) {
    if (error.unknownOutcome) history.counts.unknown++
    else history.failed(operation)
  }
  const { code, holder, item } = error
  const isWithin = items.some(({ id }) => id === holder)
  if (code === 'DUPLICATE_KEY' && item !== undefined && !isWithin)
    history.refused(items[item]!.operation, error)
}
