import {
  atPlaces,
  mustKeep,
  nextVersion,
  noRowMemory,
  PHASES,
  PLACEMENTS,
  remove,
  upsert,
} from './row-world.ts'
import type {
  IndexKey,
  Phase,
  Place,
  RowGuards,
  RowMemory,
  RowProcess,
  RowStep,
  RowWorld,
} from './row-world.ts'

export interface RowWriterOptions {
  /** Defers its index rows. */
  readonly defers?: boolean
  /** Reads the catalog before anything else. */
  readonly looksFirst?: boolean
  /** Number of the entity's shard. Default: 1, which copies the catalog. */
  readonly on?: 0 | 1
}

/** Gives the entity this key, or deletes it. */
export function rowWriter(
  key: IndexKey | 0,
  guards: RowGuards,
  { defers = false, looksFirst = false, on = 1 }: RowWriterOptions = {},
): RowProcess {
  const look: RowStep = { label: 'begins', run: () => ({ goto: 'reads the catalog' }) }
  return [
    ...(looksFirst ? [look] : []),
    {
      label: 'reads the entity',
      run(world, local, process) {
        const { version: base, key: old } = world
        Object.assign(local, { base, old, version: nextVersion(base, process) })
        return key === 0 || key === old || defers ? { goto: 'commits' } : undefined
      },
    },
    ...atPlaces('upserts its row', undefined, (_, { version }, rows) => {
      if (key !== 0) upsert(rows, key, version)
      return undefined
    }),
    {
      label: 'commits',
      run(world, local) {
        if (guards.commitsAreFenced && world.catalogs[on].epoch !== local.known.epoch)
          return { goto: 'reads the catalog' }
        if (world.version !== local.base) return local.tries++ === 0 ? { goto: 'reads the entity' } : 'end'
        Object.assign(world, { version: local.version, key })
        if (defers) world.note = local.version
        if (key === 0) world.matching = 0
        return local.old === 0 || local.old === key ? 'end' : { goto: 'deletes the lost row at place A' }
      },
    },
    {
      label: 'reads the catalog',
      run({ catalogs }, local) {
        Object.assign(local, noRowMemory(), { known: catalogs[on], tries: local.tries })
        return { goto: 'reads the entity' }
      },
    },
    ...atPlaces('deletes the lost row', 'end', (world, { old, version }, rows) => {
      if (mustKeep(world, key, guards)) return 'blocked'
      if (old !== 0) remove(rows, old, version - 1, guards)
      return undefined
    }),
  ]
}

export interface RowQueryOptions {
  /** Shard whose catalog it goes by at first. Default: 0. */
  readonly looksAt?: 0 | 1
  /** Goes by the catalog of the other shard behind its cursor. */
  readonly looksAgain?: boolean
}

/** One call of a query of both keys, which reads key 1 up to a cursor, and then key 2. */
export function rowQuery({ looksAt = 0, looksAgain = false }: RowQueryOptions = {}): RowProcess {
  const scan = ({ rows, key }: RowWorld, local: RowMemory, scanned: IndexKey): void => {
    if (rows[PLACEMENTS[local.known.phase].read][scanned] > 0 && key !== 0) local.found = true
  }
  const look = (world: RowWorld, local: RowMemory, shard: 0 | 1): void => {
    local.known = { ...world.catalogs[shard] }
    world.reading[PLACEMENTS[local.known.phase].read]++
  }
  const leave = (world: RowWorld, { known }: RowMemory): void =>
    void world.reading[PLACEMENTS[known.phase].read]--
  return [
    {
      label: 'begins to query',
      run(world, local) {
        look(world, local, looksAt)
        world.matching = world.key === 0 ? 0 : 1
      },
    },
    { label: 'scans up to its cursor', run: (world, local) => void scan(world, local, 1) },
    ...(looksAgain
      ? [
          {
            label: 'looks at the other catalog',
            run(world: RowWorld, local: RowMemory) {
              leave(world, local)
              look(world, local, looksAt === 0 ? 1 : 0)
            },
          } as RowStep,
        ]
      : []),
    {
      label: 'goes on behind its cursor',
      run(world, local) {
        scan(world, local, 2)
        if (world.matching === 1 && !local.found)
          world.wrong = 'a query lacks an entity that matched all the time'
        leave(world, local)
        world.matching = 0
      },
    },
  ]
}

/** Deletes rows of a place that match no committed entity, with what it knew when it read them. */
export function rowSweep(place: Place, guards: RowGuards): RowProcess {
  return [
    {
      label: 'reads the rows of a place',
      run: ({ rows }, local) => void (local.rows = [...rows[place]]),
    },
    {
      label: 'reads the entity',
      run: (world, local) => void Object.assign(local, { base: world.version, old: world.key }),
    },
    {
      label: 'deletes rows that dangle',
      run(world, { rows = [0, 0, 0], base, old }) {
        if (mustKeep(world, old, guards)) return 'blocked'
        for (const key of [1, 2] as const)
          if (rows[key] > 0 && key !== old) remove(world.rows[place], key, base, guards)
        return undefined
      },
    },
  ]
}

/** Writes the row of the entity outside a commit: fills an index, or makes a deferred row good. */
export function rowAdder(what: 'fills' | 'drains', guards: RowGuards): RowProcess {
  const looksAgain = what === 'fills' ? guards.fillersLookAgain : guards.drainsLookAgain
  return [
    {
      label: 'reads the entity',
      run(world, local) {
        if (what === 'drains' && world.note === 0) return 'blocked'
        Object.assign(local, { base: world.version, old: world.key })
        return undefined
      },
    },
    ...atPlaces('writes its row', undefined, (_, { old, base }, rows) => {
      if (old !== 0) upsert(rows, old, base)
      return undefined
    }),
    {
      label: 'looks at the catalog again',
      run({ catalogs: [, catalog] }, local) {
        if (!looksAgain || catalog.epoch === local.known.epoch) return undefined
        Object.assign(local, noRowMemory(), { known: { ...catalog } })
        return { goto: 'reads the entity' }
      },
    },
    {
      label: what === 'fills' ? 'says that the index is ready' : 'removes the pending row',
      run(world, { base }) {
        if (what === 'fills') world.isReady = true
        else if (world.note <= base) world.note = 0
      },
    },
  ]
}

/** Reads the rows that stayed at place A after the move and deletes them. */
export function rowEmptier(guards: RowGuards): RowProcess {
  return [
    {
      label: 'finds place A left',
      run({ catalogs }, local) {
        if (catalogs[0].phase !== 'after') return 'blocked'
        local.known = { ...catalogs[0] }
        return undefined
      },
    },
    {
      label: 'deletes the rows of place A',
      run(world, { known }) {
        if (guards.discardsAreFenced && world.catalogs[0].epoch !== known.epoch) return 'end'
        world.rows[0] = [0, 0, 0]
        return 'end'
      },
    },
  ]
}

export interface RowMoverOptions {
  /** The last phase to which it goes. Default: `after`. */
  readonly upTo?: 'after' | 'after, back'
}

/** Publishes phase by phase: the leading shard decides by compare-and-swap, and the other one copies it. */
export function rowMover(guards: RowGuards, { upTo = 'after' }: RowMoverOptions = {}): RowProcess {
  return [
    {
      label: 'reads the leading catalog',
      run: ({ catalogs: [leading] }, local) => void (local.known = { ...leading }),
    },
    {
      label: 'copies it to the other shard',
      run({ catalogs: [, catalog] }, { known }) {
        if (known.phase === 'both' && !guards.allWriteBeforeCopying) return
        if (known.phase === 'target' && !guards.readsMoveEverywhere) return
        if (catalog.epoch < known.epoch) Object.assign(catalog, known)
      },
    },
    {
      label: 'publishes the next phase',
      run(world, { known }) {
        const { phase, epoch } = known
        if (phase === upTo || phase === 'undoing' || phase === 'undone') return 'end'
        const copies = phase === 'both' || phase === 'both, back'
        if (copies && world.copied !== epoch && guards.copyBeforeReads) return undefined
        if (phase === 'both' && !commitMove(world)) return 'end'
        const isLast = phase === 'target' || phase === 'target, back'
        const left = phase === 'target' ? 0 : 1
        if (isLast && guards.readersAreAwaited && world.reading[left] > 0) return 'blocked'
        publish(world, epoch, PHASES[PHASES.indexOf(phase) + 1]!)
        return { goto: 'reads the leading catalog' }
      },
    },
    ...([1, 2] as const).flatMap((key): RowStep[] => [
      {
        label: `reads row ${key} at the old place`,
        run({ rows }, local) {
          const stamp = rows[PLACEMENTS[local.known.phase].read][key]
          local.version = stamp
        },
      },
      {
        label: `copies row ${key} to the new place`,
        run({ rows }, local) {
          const to = rows[PLACEMENTS[local.known.phase].read === 0 ? 1 : 0]
          const { version } = local
          if (version > 0) to[key] = guards.greatestStampStays ? Math.max(to[key], version) : version
          local.version = 0
        },
      },
    ]),
    {
      label: 'has copied every row',
      run(world, { known }) {
        if (world.catalogs[0].epoch === known.epoch) world.copied = known.epoch
        return { goto: 'reads the leading catalog' }
      },
    },
  ]
}

function commitMove(world: RowWorld): boolean {
  if (!world.isUndone) world.isCommitted = true
  return !world.isUndone
}

function publish({ catalogs: [leading] }: RowWorld, from: number, phase: Phase): void {
  if (leading.epoch === from) Object.assign(leading, { epoch: from + 1, phase })
}

/** Announces an undo, ends the attempt at the source, and removes the move; or finishes a move that was committed. */
export function rowUndo(guards: RowGuards): RowProcess {
  return [
    {
      label: 'announces the undo',
      run(world) {
        const [leading] = world.catalogs
        if (leading.phase === 'before') return 'blocked'
        if (leading.phase !== 'both') return 'end'
        publish(world, leading.epoch, 'undoing')
        return undefined
      },
    },
    {
      label: 'ends the attempt at the source',
      run(world) {
        if (!world.isCommitted) world.isUndone = true
        else if (guards.undoYieldsToCommit) {
          publish(world, world.catalogs[0].epoch, 'target')
          return { goto: 'copies the end of the move' }
        }
        return undefined
      },
    },
    {
      label: 'copies the undo to the other shard',
      run({ catalogs: [leading, catalog] }) {
        if (catalog.epoch < leading.epoch) Object.assign(catalog, leading)
      },
    },
    {
      label: 'removes the move',
      run(world) {
        publish(world, world.catalogs[0].epoch, 'undone')
      },
    },
    {
      label: 'copies the end of the move',
      run({ catalogs: [leading, catalog] }) {
        if (catalog.epoch < leading.epoch) Object.assign(catalog, leading)
        return 'end'
      },
    },
  ]
}
