import type { Event, StepResult } from '../explore.ts'
import {
  commitState,
  isAwaited,
  nextVersion,
  noNearMemory,
  placementOf,
  remove,
  rowsOf,
  upsert,
  type AtOnceRule,
  type IndexRow,
  type NearIndex,
  type NearMemory,
  type NearProcess,
  type NearStep,
  type NearWorld,
  type Place,
} from './row-world.ts'
import type { NearGuards } from './row-guards.ts'

export interface NearWriterOptions {
  readonly indexes: readonly NearIndex[]
  readonly rule: AtOnceRule
  /** A pooler makes each statement of the transaction a transaction of its own. */
  readonly isSplit?: boolean
  /** A program that deletes no row at once. */
  readonly isOld?: boolean
}

/** One attempt: index rows by the way they are written and deleted. */
interface AttemptPlan {
  readonly far: readonly IndexRow[]
  readonly local: readonly IndexRow[]
  /** Lost rows that go at once, in the transaction and on another shard. */
  readonly gone: readonly IndexRow[]
  readonly goneElsewhere: readonly IndexRow[]
  readonly kept: readonly IndexRow[]
}

const PLACES: readonly Place[] = [0, 1]

const writePlaces = ({ known }: NearMemory, { bucket }: IndexRow): readonly Place[] =>
  placementOf(known.phases, bucket).write

const isAt = (local: NearMemory, row: IndexRow, place: Place): boolean => {
  const places = writePlaces(local, row)
  return places.length === 1 && places[0] === place
}

/** Returns the shard whose lost rows may go at once; undefined if none. */
function atOnceOn(
  local: NearMemory,
  keys: readonly string[],
  { indexes, rule }: NearWriterOptions,
  guards: NearGuards,
): Place | undefined {
  const counted = guards.keptRowsCount ? keys : keys.filter((key) => !local.old.includes(key))
  const exact = guards.everyIndexCounts ? indexes.filter(({ isExact }) => isExact) : indexes.slice(0, 1)
  const rows = guards.allRowsFit ? rowsOf(counted, exact) : []
  const fits = (place: Place): boolean =>
    rows.every((row) => isAt(local, row, place) && (rule !== 'near' || row.bucket === 'own'))
  if (rule !== 'one shard') return fits(local.owner) ? local.owner : undefined
  return PLACES.find(fits)
}

/** Plans an attempt that gives the entity these keys. */
function planOf(
  local: NearMemory,
  keys: readonly string[],
  options: NearWriterOptions,
  guards: NearGuards,
): AttemptPlan {
  const { owner, old, known } = local
  const { indexes, rule, isOld = false } = options
  const gained = rowsOf(
    keys.filter((key) => !old.includes(key)),
    indexes,
  )
  const lost = rowsOf(
    old.filter((key) => !keys.includes(key)),
    indexes,
  )
  const atOnce = isOld || !known.isExact ? undefined : atOnceOn(local, keys, options, guards)
  const goes = (row: IndexRow): boolean =>
    row.index.isExact &&
    atOnce !== undefined &&
    isAt(local, row, atOnce) &&
    (rule !== 'near' || row.bucket === 'own')
  return {
    far: gained.filter((row) => !isAt(local, row, owner)),
    local: gained.filter((row) => isAt(local, row, owner)),
    gone: lost.filter((row) => goes(row) && isAt(local, row, owner)),
    goneElsewhere: lost.filter((row) => goes(row) && !isAt(local, row, owner)),
    kept: lost.filter((row) => !goes(row)),
  }
}

/** Gives the entity these sets of keys, one after the other. */
export function nearWriter(
  states: readonly (readonly string[])[],
  guards: NearGuards,
  options: NearWriterOptions,
): NearProcess {
  const { isSplit = false } = options
  const plan = (local: NearMemory): AttemptPlan => planOf(local, states[local.turn]!, options, guards)
  const hasAt = (local: NearMemory, rows: readonly IndexRow[], place: Place): boolean =>
    rows.some((row) => writePlaces(local, row).includes(place))

  /** Labels of the statements of this attempt, in their order. */
  function statements(local: NearMemory): string[] {
    const { far, local: rows, gone, goneElsewhere, kept } = plan(local)
    const upserts = PLACES.filter((place) => hasAt(local, far, place)).map(
      (place) => `upserts far rows at ${place}`,
    )
    const before = rows.length > 0 ? ['upserts local rows'] : []
    const behind = gone.length > 0 ? ['deletes at once'] : []
    const swapAndDeletes = [
      ...(guards.deletesAfterSwap ? [] : behind),
      'swaps',
      ...(guards.deletesAfterSwap ? behind : []),
    ]
    const split = guards.rowsBeforeSwap ? [...before, ...swapAndDeletes] : [...swapAndDeletes, ...before]
    const commit = isSplit ? split : ['commits']
    return [
      ...(guards.farRowsFirst ? [...upserts, ...commit] : [...commit, ...upserts]),
      ...(goneElsewhere.length > 0 ? ['deletes at once on the other shard'] : []),
      ...PLACES.filter((place) => hasAt(local, kept, place)).map((place) => `deletes lost rows at ${place}`),
    ]
  }
  function ends(local: NearMemory): StepResult {
    const turn = local.turn + 1
    Object.assign(local, noNearMemory(), { turn })
    return turn >= states.length ? 'end' : { goto: 'reads the entity' }
  }
  function after(local: NearMemory, label: string): StepResult {
    const all = statements(local)
    const next = all[all.indexOf(label) + 1]
    return next === undefined ? ends(local) : { goto: next }
  }
  function again(local: NearMemory): StepResult {
    const { turn, tries } = local
    if (tries > 0) return ends(local)
    Object.assign(local, noNearMemory(), { turn, tries: 1 })
    return { goto: 'reads the entity' }
  }
  /** Takes the swap. Returns undefined if it took place. */
  function swap(world: NearWorld, local: NearMemory): 'stale' | 'lost' | undefined {
    const { known, owner, base, version, turn } = local
    const isStale = world.owner !== owner || world.catalogs[owner].epoch !== known.epoch
    if (guards.commitsAreFenced && isStale) return 'stale'
    if (world.owner !== owner || (guards.swapsCompareVersions && world.version !== base)) return 'lost'
    commitState(world, version, states[turn]!)
    local.won = true
    local.awaited = Object.keys(world.queries)
    return undefined
  }
  const statement = (label: string, run: (world: NearWorld, local: NearMemory) => void): NearStep => ({
    label,
    run(world, local) {
      run(world, local)
      return after(local, label)
    },
  })
  /** Deletes the rows in the transaction if the entity has the version of this attempt. */
  function deleteAtOnce(world: NearWorld, local: NearMemory): void {
    const { version, owner } = local
    if (guards.deletesAreForWinners && guards.deletesAfterSwap && world.version !== version) return
    for (const { id } of plan(local).gone) remove(world.rows[owner], id, version - 1, guards)
  }
  return [
    {
      label: 'reads the entity',
      run({ owner, catalogs, version: base, keys: old }, local, process) {
        Object.assign(local, {
          owner,
          known: catalogs[owner],
          base,
          old,
          version: nextVersion(base, process),
        })
        return { goto: statements(local)[0]! }
      },
    },
    ...PLACES.map((place) =>
      statement(`upserts far rows at ${place}`, ({ rows }, local) => {
        for (const row of plan(local).far)
          if (writePlaces(local, row).includes(place)) upsert(rows[place], row.id, local.version, guards)
      }),
    ),
    {
      label: 'commits',
      run(world, local) {
        const { local: rows } = plan(local)
        const result = swap(world, local)
        if (result === 'stale') return again(local)
        // A gathered swap that is lost leaves its upserts.
        for (const { id } of rows) upsert(world.rows[local.owner], id, local.version, guards)
        if (result === undefined || !guards.deletesAreForWinners) deleteAtOnce(world, local)
        return result === undefined ? after(local, 'commits') : again(local)
      },
    },
    statement('upserts local rows', ({ rows }, local) => {
      for (const { id } of plan(local).local) upsert(rows[local.owner], id, local.version, guards)
    }),
    {
      label: 'swaps',
      run(world, local) {
        const result = swap(world, local)
        if (result === 'stale') return again(local)
        // Statements behind a lost swap are sent, too.
        if (result === 'lost' && plan(local).gone.length === 0) return again(local)
        return after(local, 'swaps')
      },
    },
    {
      label: 'deletes at once',
      run(world, local) {
        deleteAtOnce(world, local)
        return local.won || !guards.deletesAfterSwap ? after(local, 'deletes at once') : again(local)
      },
    },
    statement('deletes at once on the other shard', ({ rows }, local) => {
      const place = local.owner === 0 ? 1 : 0
      for (const { id } of plan(local).goneElsewhere) remove(rows[place], id, local.version - 1, guards)
    }),
    ...PLACES.map((place): NearStep => {
      const label = `deletes lost rows at ${place}`
      return {
        label,
        run(world, local) {
          if (guards.otherRowsStay && isAwaited(world, local.awaited)) return 'blocked'
          for (const row of plan(local).kept)
            if (writePlaces(local, row).includes(place))
              remove(world.rows[place], row.id, local.version - 1, guards)
          return after(local, label)
        },
      }
    }),
  ]
}

/** A transaction of an attempt from version 10, given up long ago, which replaces `n1` by `n2`. */
export const latePacket = (guards: NearGuards): Event<NearWorld> => ({
  label: 'a late packet arrives',
  possible: ({ catalogs, owner }) => owner === 0 && catalogs[0].epoch === 1,
  happen(world) {
    const rows = world.rows[0]
    upsert(rows, 'I.n2', 19, guards)
    const won = world.version === 10
    if (won) commitState(world, 19, ['n2'])
    if (won || !guards.deletesAreForWinners) remove(rows, 'I.n1', 18, guards)
  },
})

/** Adds rows that are missing at a place, and deletes dangling ones, with what it knew when it read them. */
export function nearSweep(place: Place, guards: NearGuards, indexes: readonly NearIndex[]): NearProcess {
  const dangling = (local: NearMemory): string[] => {
    const own = new Set(rowsOf(local.old, indexes).map(({ id }) => id))
    return Object.keys(local.rows).filter((id) => !own.has(id))
  }
  return [
    { label: 'scans the rows of a place', run: ({ rows }, local) => void (local.rows = rows[place]) },
    {
      label: 'reads the entity',
      run({ version, keys, queries }, local) {
        Object.assign(local, { base: version, old: keys, awaited: Object.keys(queries) })
        return dangling(local).length === 0 ? 'end' : undefined
      },
    },
    {
      label: 'deletes rows that dangle',
      run(world, local) {
        if (guards.cleanersWait && isAwaited(world, local.awaited)) return 'blocked'
        for (const id of dangling(local)) remove(world.rows[place], id, local.base, guards)
        return undefined
      },
    },
  ]
}
