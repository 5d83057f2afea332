import { isLooseleafError, metaOf, type Bag, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { History, Operation } from './history.ts'
import { byGroup, byTag, GROUPS, TAGS } from './indexes.ts'
import type { Random } from './random.ts'

export interface ClientOptions {
  readonly store: DataStore
  readonly random: Random
  readonly history: History
  /** The entities that all clients fight over. */
  readonly ids: readonly EntityId[]
  readonly operations: number
}

/** One caller of a process: one operation after the other, each told to the history. */
export async function runClient(options: ClientOptions): Promise<void> {
  for (let n = 0; n < options.operations; n++) {
    const operation = options.history.begin()
    try {
      await perform(options, operation)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      // What is retryable and not unknown, and what is refused, did not take place.
      if (error.unknownOutcome) options.history.counts.unknown++
      else options.history.failed(operation)
    }
  }
}

async function perform({ store, random, history, ids }: ClientOptions, operation: Operation): Promise<void> {
  const id = random.pick(ids)
  const bag = (): Bag => ({
    by: operation.number,
    group: random.pick([...GROUPS, null]),
    rank: random.below(3),
    tags: TAGS.filter(() => random.chance(0.4)),
  })
  switch (random.below(8)) {
    case 0:
    case 1: {
      const { version } = await store.put(bag(), { id })
      return history.acknowledged(operation, id, version)
    }
    case 2: {
      const { version } = await store.insert(bag(), { id })
      return history.acknowledged(operation, id, version)
    }
    case 3: {
      const { version } = await store.update(id, (before) => ({ ...before, ...bag() }))
      return history.acknowledged(operation, id, version)
    }
    case 4: {
      // A tombstone has no bag to say whose it is, so a delete is held to its effect on reads and queries alone.
      await store.delete(id)
      return undefined
    }
    case 5: {
      const entity = await store.get(id)
      return history.read(operation, id, entity && metaOf(entity)?.version, entity)
    }
    case 6: {
      const tags = random.pick(TAGS)
      const page = await store.query(byTag, { tags }, { limit: 100 })
      const matches = (found: Bag): boolean => (found['tags'] as readonly string[]).includes(tags)
      return history.queried(operation, matches, page, `tag ${tags}`)
    }
    default: {
      const group = random.pick(GROUPS)
      const page = await store.query(byGroup, { group }, { limit: 100 })
      const matches = (found: Bag): boolean => found['group'] === group
      return history.queried(operation, matches, page, `group ${group}`)
    }
  }
}
