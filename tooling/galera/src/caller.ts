import { isLooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { byGroup, byTag } from '@looseleaf-tooling/lab/indexes'
import { holdsWithin } from '@looseleaf-tooling/lab/until'
import type { Tally } from './tally.ts'

/** What a caller has written to an entity of its own; null when there is none. */
type State = { readonly write: number; readonly group: string; readonly tags: readonly string[] } | null

interface OwnEntity {
  readonly id: EntityId
  /** One state; several while the outcome of writes is unknown, the one that was known first. */
  possible: State[]
}

/** Somebody who writes entities that nobody else writes, and counters that all write, and knows what has to be there. */
export interface Caller {
  /** One write, and at times a look. Never throws for what a shard says. */
  step(store: DataStore): Promise<void>
  /** Looks at everything that it owns, by id and through both indexes. */
  look(store: DataStore): Promise<void>
  /** How often it has counted each counter: at least, and at most. */
  counted(): readonly (readonly [least: number, most: number])[]
}

const ENTITIES = 8
const GROUPS = 3
/** A replica that is behind catches up within this; what is not there by then is lost. */
const CATCH_UP_MS = 3_000

export function createCaller(
  name: string,
  counters: readonly EntityId[],
  newId: () => EntityId,
  tally: Tally,
  catchUpMs = CATCH_UP_MS,
): Caller {
  const owned: OwnEntity[] = Array.from({ length: ENTITIES }, () => ({ id: newId(), possible: [null] }))
  const counts = counters.map(() => ({ least: 0, most: 0 }))
  let writes = 0
  let next = 0

  /** `done` is called when the write is acknowledged, `unknown` when nobody knows. */
  async function attempt(
    write: () => Promise<unknown>,
    done: () => void,
    unknown: () => void,
  ): Promise<void> {
    try {
      await write()
      tally.acknowledged++
      done()
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      tally.examples[error.code] ??= error.message
      if (error.unknownOutcome) {
        tally.unknown++
        unknown()
      } else tally.refused[error.code] = (tally.refused[error.code] ?? 0) + 1
    }
  }

  async function writeOwn(store: DataStore, own: OwnEntity): Promise<void> {
    const write = ++writes
    const removes = own.possible[0] !== null && write % 11 === 0
    const state: State = removes
      ? null
      : {
          write,
          group: `${name} ${write % GROUPS}`,
          tags: write % 5 === 0 ? [] : [`${name} odd ${write % 2}`, `tag ${write % 7}`],
        }
    await attempt(
      () =>
        state === null
          ? store.delete(own.id)
          : store.put({ caller: name, write, group: state.group, tags: [...state.tags] }, { id: own.id }),
      () => {
        own.possible = [state]
      },
      () => {
        own.possible = [...own.possible, state]
      },
    )
  }

  async function count(store: DataStore, counter: number): Promise<void> {
    const place = counts[counter]
    if (place === undefined) return
    await attempt(
      () =>
        store.update(counters[counter] as EntityId, (bag) => ({
          ...bag,
          [name]: Number(bag[name] ?? 0) + 1,
        })),
      () => {
        place.least++
        place.most++
      },
      () => place.most++,
    )
  }

  /** Looks until it is right, which is stale if it was not so at once; answers whether it came right. */
  async function catchUp(look: () => Promise<boolean>): Promise<boolean> {
    let tries = 0
    const isRight = await holdsWithin(
      catchUpMs,
      async () => {
        tries++
        const isSo = await look()
        tally.looks++
        return isSo
      },
      20,
    )
    if (isRight && tries > 1) tally.staleLooks++
    return isRight
  }

  /** Reads an entity until it is in a state that it may be in. */
  async function lookAt(store: DataStore, own: OwnEntity): Promise<void> {
    let found: Bag | undefined
    let state: State | undefined
    await catchUp(async () => {
      found = await store.get(own.id)
      state = own.possible.find((one) => fits(one, found))
      return state !== undefined
    })
    if (state === undefined) {
      const expected = own.possible.map((one) => one?.write ?? 'none').join(' or ')
      tally.wrongs.push(
        `${own.id}: write ${String(found?.['write'] ?? 'none')} is there, expected ${expected}`,
      )
      return
    }
    if (own.possible.length > 1) {
      if (state === own.possible[0]) tally.unknownNotDone++
      else tally.unknownDone++
    }
    own.possible = [state]
  }

  /** What a group or a tag of this caller finds is exactly what it knows to be there. */
  async function lookThrough(store: DataStore): Promise<void> {
    if (owned.some(({ possible }) => possible.length > 1)) return
    const asked = [
      ...Array.from({ length: GROUPS }, (_, i) => `${name} ${i}`).map((group) => ({
        key: group,
        query: () => byGroup.getAll(store, { group }),
        holds: (state: State) => state?.group === group,
      })),
      ...[0, 1]
        .map((odd) => `${name} odd ${odd}`)
        .map((tag) => ({
          key: tag,
          query: () => byTag.getAll(store, { tags: tag }),
          holds: (state: State) => state?.tags.includes(tag) === true,
        })),
    ]
    for (const { key, query, holds } of asked) {
      const expected = owned.filter(({ possible }) => holds(possible[0] ?? null)).map(({ id }) => id)
      let found = new Set<string>()
      const isRight = await catchUp(async () => {
        found = new Set((await query()).map(({ id }) => id))
        return found.size === expected.length && expected.every((id) => found.has(id))
      })
      if (!isRight)
        tally.wrongs.push(`the key ${key} finds ${found.size} entities, expected ${expected.length}`)
    }
  }

  return {
    async step(store) {
      const turn = ++next
      if (turn % 40 === 0) return count(store, (turn / 40) % counters.length)
      const own = owned[turn % owned.length] as OwnEntity
      await writeOwn(store, own)
      if (turn % 4 !== 0) return
      try {
        await lookAt(store, own)
        if (turn % 20 === 0) await lookThrough(store)
      } catch (error) {
        // A look that the shard does not answer has seen nothing.
        if (!isLooseleafError(error)) throw error
      }
    },
    async look(store) {
      for (const own of owned) await lookAt(store, own)
      await lookThrough(store)
    },
    counted: () => counts.map(({ least, most }) => [least, most] as const),
  }
}

function fits(state: State, found: Bag | undefined): boolean {
  return state === null ? found === undefined : found?.['write'] === state.write
}

/** Counters against what all callers have counted: an update that was lost, or done twice, shows. */
export async function checkCounters(
  store: DataStore,
  counters: readonly EntityId[],
  callers: ReadonlyMap<string, Caller>,
  tally: Tally,
): Promise<void> {
  for (const [place, id] of counters.entries()) {
    const bag = (await store.get(id)) as Bag | undefined
    for (const [name, caller] of callers) {
      const [least, most] = caller.counted()[place] ?? [0, 0]
      const value = Number(bag?.[name] ?? 0)
      tally.looks++
      if (value < least || value > most)
        tally.wrongs.push(`counter ${place} has ${value} of ${name}, expected ${least} to ${most}`)
    }
  }
}
