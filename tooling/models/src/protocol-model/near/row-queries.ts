import {
  placementOf,
  rowsOf,
  type NearIndex,
  type NearMemory,
  type NearProcess,
  type NearStep,
  type NearWorld,
  type Place,
} from './row-world.ts'
import type { NearGuards } from './row-guards.ts'

/** Rows of one index on one shard that a statement reads. */
interface RowRead {
  readonly place: Place
  readonly index: NearIndex
  readonly keys: readonly string[]
}

/** A statement of a query. All of its reads are at one instant. */
interface QueryStatement {
  readonly reads: readonly RowRead[]
  /** Opens a snapshot of this shard, in which the query reads it from now on. */
  readonly opens?: Place
  /** Gives up the snapshot of this shard, or its replica. */
  readonly closes?: Place
  /** Forgets all that was found before. */
  readonly beginsAnew?: boolean
}

export interface NearQueryOptions {
  readonly asked: readonly string[]
  readonly statements: readonly QueryStatement[]
  /** Indexes that have to lead to the entity by the same key. Default: `I`. */
  readonly indexes?: readonly string[]
  /** A program that does not protect itself, and is refused once the store requires protection. */
  readonly isOld?: boolean
  /** Shard whose catalog it reads at first. Default: 0, which leads. */
  readonly looksAt?: Place
  /** Number of the statement before which it reads the catalog of the other shard. */
  readonly looksAgain?: number
  /** Shard that it reads at an earlier moment, on a replica. */
  readonly replica?: Place
  /** Takes the entity beside its row. */
  readonly joins?: boolean
}

/** Returns a query statement that reads these keys of an index on a shard. */
export const read = (
  place: Place,
  index: NearIndex,
  keys: readonly string[],
  options: Omit<QueryStatement, 'reads'> = {},
): QueryStatement => ({ reads: [{ place, index, keys }], ...options })

/** One call of a query. Its name is that of its process. */
export function nearQuery(guards: NearGuards, options: NearQueryOptions): NearProcess {
  const { asked, statements, indexes = ['I'], isOld = false, looksAt = 0, replica, joins = false } = options
  const enters = ({ queries, keys, version }: NearWorld, process: number): void => {
    const matches = asked.some((key) => keys.includes(key))
    queries[process] ??= { phases: null, asked, matches, since: version, isOld }
  }
  const meets = (world: NearWorld, process: number, place: Place): boolean => {
    const { leftBehind, owner } = world
    if (!joins || owner === place || guards.joinsCheckOwner || leftBehind === null) return true
    if (leftBehind.version < world.queries[process]!.since)
      world.wrong = 'a page has a state that was replaced before it began'
    return leftBehind.keys.some((key) => asked.includes(key))
  }
  const statementStep = (statement: QueryStatement, number: number): NearStep => ({
    label: `reads (${number})`,
    run(world, local, process) {
      if (statement.beginsAnew === true) local.found = {}
      if (statement.closes !== undefined) local.snapshots[statement.closes] = null
      if (statement.opens !== undefined) local.snapshots[statement.opens] = world.rows[statement.opens]
      const { phases } = world.queries[process]!
      for (const { place, index, keys } of statement.reads) {
        const rows = local.snapshots[place] ?? world.rows[place]
        const found = rowsOf(keys, [index]).flatMap(({ id, bucket }, i) =>
          id in rows && placementOf(phases!, bucket).read === place && meets(world, process, place)
            ? [keys[i]!]
            : [],
        )
        local.found[index.name] = [...new Set([...(local.found[index.name] ?? []), ...found])].toSorted()
      }
    },
  })
  const look = (world: NearWorld, process: number, shard: Place): void =>
    void (world.queries[process]!.phases = world.catalogs[shard].phases)
  const looksAgain: NearStep = {
    label: 'looks at the other catalog',
    run(world, local, process) {
      const before = world.queries[process]!.phases
      look(world, process, looksAt === 0 ? 1 : 0)
      if (!guards.oneCatalog || JSON.stringify(before) === JSON.stringify(world.queries[process]!.phases))
        return
      Object.assign(local, { found: {}, snapshots: [null, null] })
      return { goto: 'reads (0)' }
    },
  }
  const showsReplica: NearStep = {
    label: 'the replica stops replaying',
    run(world, local, process) {
      enters(world, process)
      local.snapshots[replica!] = world.rows[replica!]
      local.known = world.catalogs[replica!]
    },
  }
  const steps = statements.map(statementStep)
  if (options.looksAgain !== undefined) steps.splice(options.looksAgain, 0, looksAgain)
  return [
    ...(replica === undefined ? [] : [showsReplica]),
    {
      label: 'begins',
      run(world, local, process) {
        if (isOld && world.requiresProtection) return 'end'
        enters(world, process)
        look(world, process, looksAt)
        if (replica !== undefined && guards.replicasShowCatalog) {
          const shown = JSON.stringify(local.known.phases)
          if (shown !== JSON.stringify(world.queries[process]!.phases)) local.snapshots[replica] = null
        }
        return undefined
      },
    },
    ...steps,
    {
      label: 'ends',
      run(world, { found }: NearMemory, process) {
        const [first = [], ...others] = indexes.map((name) => found[name] ?? [])
        const isFound = first.some((key) => asked.includes(key) && others.every((keys) => keys.includes(key)))
        if (world.queries[process]!.matches && !isFound)
          world.wrong = `P${process} lacks an entity that matched all the time`
        delete world.queries[process]
      },
    },
  ]
}
