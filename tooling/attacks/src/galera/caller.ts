import { isLooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { holdsWithin } from '../lab/until.ts'
import type { Tally } from './tally.ts'

/** Content of a caller's own entity; null if there is none. */
type State = { readonly write: number; readonly group: string; readonly tags: readonly string[] } | null

interface OwnEntity {
  readonly id: EntityId
  /**
   * Possible states: one, or several while the outcome of writes is unknown; the first known one comes first.
   */
  possible: State[]
}

/** Writes entities of its own and shared counters, and knows the expected contents. */
export interface Caller {
  /** Makes one write, and sometimes a read. Never throws errors of shards. */
  step(store: DataStore): Promise<void>
  /** Reads all of its entities, by id and through both indexes. */
  look(store: DataStore): Promise<void>
  /** Returns the least and greatest number of its increments per counter. */
  counted(): readonly (readonly [least: number, most: number])[]
}

const ENTITIES = 8
const GROUPS = 3
/** A lagging replica catches up within this time; entities still missing then count as lost. */
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

  /** Calls `done` when the write is acknowledged, and `unknown` if its outcome is unknown. */
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

  /**
   * Repeats a read until it is right. A first wrong result counts as stale. Returns whether it became right.
   */
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

  /** Reads an entity until it is in a possible state. */
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

  /** Checks that a query for a group or a tag of this caller finds exactly its entities. */
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
        // A read without an answer proves nothing.
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

/** Compares counters with the increments of all callers; shows updates that were lost or made twice. */
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
