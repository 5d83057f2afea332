import { formatId, parseId, type Bag, type Codec, type EntityId } from '@looseleaf/core'
import type { ReferenceRow } from '@looseleaf-tooling/kit/reference-driver'
import type { Owners } from '../world/owners.ts'

/** A committed state of an entity; `bag` is null while the entity is deleted or absent. */
export interface State {
  readonly version: number
  readonly bag: Bag | null
  /** First moment of the state. */
  readonly since: number
}

/** A state at its commit. */
export interface NewState extends State {
  readonly id: EntityId
  /** Version of the preceding state. */
  readonly before: number
}

/** All states of all entities. */
export interface States {
  /** Returns the number of changes of the databases. */
  moment(): number
  /** Returns the last moment before this time, in milliseconds. */
  momentBefore(time: number): number
  ids(): Iterable<EntityId>
  /** Returns the states that held at any time since this moment, oldest first. */
  during(since: number, id: EntityId): readonly State[]
  /** Returns the state that this version replaced; undefined if the version was never committed. */
  before(id: EntityId, version: number): State | undefined
  /** Tells whether an operation was committed, and no fall-back has undone that. */
  wasCommittedBy(operation: number): boolean
  /** Tells whether a fall-back has undone this version and it was not committed again. */
  isLost(id: EntityId, version: number): boolean
  observe(): readonly NewState[]
  /**
   * Re-reads everything after a shard has fallen back. Returns the current versions of the entities; 0 for
   * one that is gone.
   */
  fallenBack(): ReadonlyMap<EntityId, number>
}

const NOTHING: State = { version: 0, bag: null, since: 0 }

export function createStates(owners: Owners, codec: Codec, now: () => number): States {
  const states = new Map<EntityId, State[]>()
  /** Entity and version of the commits of each operation. */
  const commits = new Map<number, (readonly [EntityId, number])[]>()
  /** Rows that were already read. */
  let seen = new WeakSet<ReferenceRow>()
  let moment = 0
  /** Time at which each moment began. */
  const beginnings = [-Infinity]

  const of = (id: EntityId): readonly State[] => states.get(id) ?? []

  function enter(id: EntityId, row: Pick<ReferenceRow, 'version' | 'body'>): NewState {
    const known = states.get(id) ?? []
    const bag = row.body === null ? null : codec.decode(row.body)
    const by = Number(bag?.['by'] ?? 0)
    commits.set(by, [...(commits.get(by) ?? []), [id, row.version]])
    const state = { version: row.version, bag, since: moment }
    states.set(id, [...known, state])
    return { ...state, id, before: known.at(-1)?.version ?? 0 }
  }

  function beginMoment(): void {
    moment = beginnings.push(now()) - 1
  }

  function enterRows(): NewState[] {
    const fresh: NewState[] = []
    for (const row of owners.rows()) {
      if (seen.has(row)) continue
      seen.add(row)
      const id = formatId(row.id)
      const last = of(id).at(-1)
      if (last?.version !== row.version || !isBody(last, row)) fresh.push(enter(id, row))
    }
    return fresh
  }

  /** Tells whether the row of another shard has the same body. */
  function isBody({ bag }: State, { body }: ReferenceRow): boolean {
    if (bag === null || body === null) return bag === body
    return bag['by'] === codec.decode(body)['by']
  }

  /** Enters the states of entities that are gone. */
  function enterGone(): NewState[] {
    return [...states].flatMap(([id, all]) =>
      all.at(-1)?.version === 0 || owners.current(parseId(id)) !== undefined
        ? []
        : [enter(id, { version: 0, body: null })],
    )
  }

  function isLost(id: EntityId, version: number): boolean {
    const at = of(id).findLastIndex((state) => state.version === version)
    return of(id)
      .slice(at + 1)
      .some((state) => state.version < version)
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
      // An undone version may have been committed again later.
      const at = of(id).findIndex((state) => state.version === version)
      return at === -1 ? undefined : (of(id)[at - 1] ?? NOTHING)
    },
    wasCommittedBy: (operation) =>
      commits.get(operation)?.some(([id, version]) => !isLost(id, version)) === true,
    isLost,
    observe() {
      beginMoment()
      return [...enterRows(), ...enterGone()]
    },
    fallenBack() {
      beginMoment()
      seen = new WeakSet()
      enterRows()
      // Entities that were inserted after the state to which their shard fell back.
      enterGone()
      const versions = new Map(owners.rows().map((row) => [formatId(row.id), row.version]))
      for (const id of states.keys()) if (!versions.has(id)) versions.set(id, 0)
      return versions
    },
  }
}
