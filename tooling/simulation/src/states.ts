import { formatId, type Bag, type Codec, type EntityId } from '@looseleaf/core'
import type { ReferenceDriver, ReferenceRow, ReferenceShard } from '@looseleaf-tooling/reference-driver'

/** A committed state of an entity; bag null while it is deleted or not there. */
export interface State {
  readonly version: number
  readonly bag: Bag | null
  /** The moment from which it holds. */
  readonly since: number
}

/** A state that has just come about. */
export interface NewState extends State {
  readonly id: EntityId
  /** The version of the state before it. */
  readonly before: number
}

/** Every state that every entity has gone through. */
export interface States {
  /** Counts the changes of the databases. */
  moment(): number
  /** The last one of before this time, in milliseconds. */
  momentBefore(time: number): number
  ids(): Iterable<EntityId>
  /** The states that held at some time since this moment, the oldest first. */
  during(since: number, id: EntityId): readonly State[]
  /** The state that this version replaced; undefined if it was never committed. */
  before(id: EntityId, version: number): State | undefined
  wasCommittedBy(operation: number): boolean
  /** Whether a shard that fell back has lost this version and it was not committed again. */
  isLost(id: EntityId, version: number): boolean
  observe(): readonly NewState[]
  /**
   * Looks at everything again when a shard has fallen back to an earlier state; answers the versions that the entities are
   * at now, 0 for one that is gone.
   */
  fallenBack(): ReadonlyMap<EntityId, number>
}

const NOTHING: State = { version: 0, bag: null, since: 0 }

export function createStates(driver: ReferenceDriver, codec: Codec, now: () => number): States {
  const states = new Map<EntityId, State[]>()
  const committedBy = new Set<number>()
  /** Rows that were looked at already. */
  let seen = new WeakSet<ReferenceRow>()
  let moment = 0
  /** When each moment began. */
  const beginnings = [-Infinity]

  const of = (id: EntityId): readonly State[] => states.get(id) ?? []

  function enter(id: EntityId, row: Pick<ReferenceRow, 'version' | 'body'>): NewState {
    const known = states.get(id) ?? []
    const bag = row.body === null ? null : codec.decode(row.body)
    committedBy.add(Number(bag?.['by'] ?? 0))
    const state = { version: row.version, bag, since: moment }
    states.set(id, [...known, state])
    return { ...state, id, before: known.at(-1)?.version ?? 0 }
  }

  function beginMoment(): void {
    moment = beginnings.push(now()) - 1
  }

  function enterRows(shard: ReferenceShard): NewState[] {
    const fresh: NewState[] = []
    for (const row of shard.entities.rows) {
      if (seen.has(row)) continue
      seen.add(row)
      const id = formatId(row.id)
      if (of(id).at(-1)?.version !== row.version) fresh.push(enter(id, row))
    }
    return fresh
  }

  return {
    moment: () => moment,
    momentBefore: (time) => beginnings.findLastIndex((began) => began < time),
    ids: () => states.keys(),
    during(since, id) {
      const all = of(id)
      const first = all.findLastIndex((state) => state.since <= since)
      return first === -1 ? [NOTHING, ...all] : all.slice(first)
    },
    before(id, version) {
      // What fell back may have come again later.
      const at = of(id).findIndex((state) => state.version === version)
      return at === -1 ? undefined : (of(id)[at - 1] ?? NOTHING)
    },
    wasCommittedBy: (operation) => committedBy.has(operation),
    isLost(id, version) {
      const at = of(id).findLastIndex((state) => state.version === version)
      return of(id)
        .slice(at + 1)
        .some((state) => state.version < version)
    },
    observe() {
      beginMoment()
      return driver.shards.flatMap(enterRows)
    },
    fallenBack() {
      beginMoment()
      seen = new WeakSet()
      for (const shard of driver.shards) enterRows(shard)
      const rows = driver.shards.flatMap(({ entities }) => entities.rows)
      const versions = new Map(rows.map((row) => [formatId(row.id), row.version]))
      for (const [id, all] of states) {
        if (versions.has(id)) continue
        versions.set(id, 0)
        // It was inserted since the state to which its shard fell back.
        if (all.at(-1)?.version !== 0) enter(id, { version: 0, body: null })
      }
      return versions
    },
  }
}
