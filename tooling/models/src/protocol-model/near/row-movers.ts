import { PHASES, PLACEMENTS, type Phase } from '../moves/row-world.ts'
import { upsert, type NearCatalog, type NearIndex, type NearProcess, type NearWorld } from './row-world.ts'
import type { NearGuards } from './row-guards.ts'

export interface NearMoverOptions {
  readonly bucket: 'own' | 'same'
  readonly indexes: readonly NearIndex[]
  readonly upTo: Phase
}

/** Moves a bucket phase by phase. The entity goes along with its own bucket. */
export function nearMover(guards: NearGuards, { bucket, indexes, upTo }: NearMoverOptions): NearProcess {
  const phaseOf = ({ catalogs }: NearWorld): Phase => catalogs[0].phases[bucket]
  const publish = ({ catalogs: [leading] }: NearWorld, phase: Phase): void =>
    void Object.assign(leading, {
      epoch: leading.epoch + 1,
      contents: leading.contents + 1,
      phases: { ...leading.phases, [bucket]: phase },
    })
  const copyCatalog = (from: NearCatalog, to: NearCatalog): void => {
    const { contents, phases, isExact } = from
    Object.assign(to, { contents, phases, isExact, epoch: to.epoch + 1 })
  }
  /** A catalog that falls behind on purpose copies what was published before the last phase. */
  const waitsForWriters = (phase: Phase): boolean => phase !== 'both' || guards.allWriteBeforeReads
  return [
    {
      label: 'goes on',
      run(world) {
        const phase = phaseOf(world)
        if (phase === upTo) return 'end'
        if (phase === 'both' || phase === 'both, back')
          return { goto: upTo === 'undone' ? 'publishes the undo' : 'reads the rows at the source' }
        return { goto: 'publishes the next phase' }
      },
    },
    {
      label: 'publishes the undo',
      run(world) {
        const phase = phaseOf(world)
        publish(world, phase === 'undoing' ? 'undone' : 'undoing')
        return { goto: 'copies the catalog to the other shard' }
      },
    },
    {
      label: 'reads the rows at the source',
      run: ({ rows, catalogs }, local) =>
        void (local.rows = rows[PLACEMENTS[catalogs[0].phases[bucket]].read]),
    },
    {
      label: 'copies the rows',
      run({ rows, catalogs }, local) {
        const to = PLACEMENTS[catalogs[0].phases[bucket]].read === 0 ? 1 : 0
        for (const [id, stamp] of Object.entries(local.rows)) {
          const index = indexes.find(({ name }) => id.startsWith(`${name}.`))!
          if (index.bucketOf(id.slice(2)) === bucket) upsert(rows[to], id, stamp, guards)
        }
        local.rows = {}
        return { goto: bucket === 'own' ? 'hands the entity over' : 'publishes the next phase' }
      },
    },
    {
      label: 'hands the entity over',
      run(world) {
        const { owner, version, keys, catalogs } = world
        Object.assign(world, { owner: owner === 0 ? 1 : 0, leftBehind: { version, keys } })
        for (const catalog of catalogs) catalog.epoch++
      },
    },
    {
      label: 'publishes the next phase',
      run(world) {
        const phase = phaseOf(world)
        if (phase === 'target' || phase === 'target, back') {
          const source = phase === 'target' ? 0 : 1
          const readsSource = Object.values(world.queries).some(
            ({ phases }) => phases !== null && PLACEMENTS[phases[bucket]].read === source,
          )
          if (readsSource && guards.readersAreAwaited) return 'blocked'
        }
        publish(world, PHASES[PHASES.indexOf(phase) + 1]!)
        return undefined
      },
    },
    {
      label: 'copies the catalog to the other shard',
      run({ catalogs: [leading, other] }) {
        if (waitsForWriters(leading.phases[bucket])) copyCatalog(leading, other)
        const { [bucket]: phase } = leading.phases
        return { goto: phase === 'undoing' ? 'publishes the undo' : 'goes on' }
      },
    },
    {
      label: 'is over',
      run: () => 'end',
    },
  ]
}

/** Requires protection of every program, waits for queries of others, and makes the indexes exact. */
export function exactSwitch(guards: NearGuards): NearProcess {
  return [
    { label: 'requires protection', run: (world) => void (world.requiresProtection = true) },
    {
      label: 'makes the indexes exact',
      run(world) {
        if (guards.oldReadersAreKeptOut && Object.values(world.queries).some(({ isOld }) => isOld))
          return 'blocked'
        for (const catalog of world.catalogs)
          Object.assign(catalog, { isExact: true, epoch: catalog.epoch + 1 })
        return undefined
      },
    },
  ]
}
