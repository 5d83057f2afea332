import type { Bag, Codec, EntityId, LooseleafError } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import type { Check, Checker } from './checks.ts'
import { keysIn } from './indexes.ts'
import { createStates, type State } from './states.ts'

/** An operation under way, from the moment it was called. */
export interface Operation {
  readonly number: number
  readonly since: number
  /** The time then, in milliseconds. */
  readonly at: number
  /** How many writes had been acknowledged. */
  readonly acknowledged: number
  /** The store that does it. */
  readonly store: object | undefined
  /** What was last to be written. */
  wanted?: Bag
}

/** How old an answer may be. */
export interface Bound {
  /** Milliseconds, at its call. */
  readonly ms: number
  /** A moment whose state it has to know. */
  readonly after?: number | undefined
}

/** What a query asked for. */
export interface AskedQuery {
  readonly what: string
  matches(bag: Bag): boolean
}

export interface Counts {
  operations: number
  acknowledged: number
  failed: number
  unknown: number
  reads: number
  queries: number
}

/**
 * Holds what processes were told against what the databases went through. Every write carries the number of its
 * operation in the bag, so that a commit says whose it is.
 */
export interface History {
  begin(store?: object): Operation
  /** Counts the changes of the databases. */
  moment(): number
  /** The operation as one that may answer what is older: all answers are held to what was so at some time since then. */
  within(operation: Operation, bound: Bound): Operation
  /** Looks at the databases; after each thing that happened. */
  observe(): void
  /** Looks at the databases when a shard has failed over: commits that are gone bind nobody any more. */
  failedOver(): void
  /** Looks at the databases when a server has crashed: what was acknowledged has to be there. */
  serverCrashed(): void
  /** A write was acknowledged with this version, and was to replace `base` if it said so. */
  acknowledged(operation: Operation, id: EntityId, version: number, base?: number): void
  /** A delete answered whether the entity was there. */
  deleted(operation: Operation, id: EntityId, wasThere: boolean): void
  /** A write failed, and it was said that it did not take place. */
  failed(operation: Operation): void
  /** A write was refused, because this entity has a key of this index that it was to have. */
  refused(operation: Operation, refusal: Pick<LooseleafError, 'index' | 'holder'>): void
  /** A read gave this. */
  read(operation: Operation, id: EntityId, version: number | undefined, bag: Bag | undefined): void
  /** A read from replicas did. */
  readReplica(
    operation: Operation,
    id: EntityId,
    version: number | undefined,
    bag: Bag | undefined,
    bound: Bound,
  ): void
  /** A read through the cache that processes share did. */
  readCache(
    operation: Operation,
    id: EntityId,
    version: number | undefined,
    bag: Bag | undefined,
    bound: Bound,
  ): void
  /** A query gave this first page. */
  queried(operation: Operation, asked: AskedQuery, page: Pick<QueryPage, 'items' | 'cost' | 'cursor'>): void
  /** A query of replicas gave this first page, as of a time in milliseconds; undefined where only primaries were read. */
  queriedReplicas(
    operation: Operation,
    asked: AskedQuery,
    page: Pick<QueryPage, 'items' | 'cost' | 'cursor'>,
    bound: Bound,
    asOf: number | undefined,
  ): void
  /** An index gave these, as all that there are. */
  gotAll(operation: Operation, asked: AskedQuery, items: readonly Bag[]): void
  /** A reading of every entity gave these, whatever the indexes have. */
  scanned(operation: Operation, asked: AskedQuery, items: readonly Bag[]): void
  /** Several pages gave these, one after the other. */
  paged(operation: Operation, asked: AskedQuery, items: readonly Bag[], isComplete: boolean): void
  /** A count gave this; `exact` where it looked at every entity. */
  counted(operation: Operation, asked: AskedQuery, count: number, exact: boolean): void
  readonly counts: Counts
}

export interface HistoryOptions {
  readonly checker: Checker
  /** In milliseconds. */
  readonly now: () => number
  /** False where rows are allowed to be missing for a while, so that a query may lack something. */
  promisesRows(operation: Operation): boolean
  /** True where rows may be pending, which a count does not say. */
  readonly mayDefer: boolean
  /** True where a failover may lose what was acknowledged. */
  readonly mayFailOver: boolean
}

/** A page says as of when it is in whole milliseconds, and rather too little. */
const ROUNDED_MS = 2

interface Acknowledged {
  readonly version: number
  readonly at: number
  /** Counts all that were acknowledged. */
  readonly number: number
  readonly store: object | undefined
}

export function createHistory(driver: ReferenceDriver, codec: Codec, options: HistoryOptions): History {
  const { check } = options.checker
  const states = createStates(driver, codec, options.now)
  const definitelyFailed = new Set<number>()
  /** The versions that were acknowledged for an entity, with the moment, and the store that had written them. */
  const acknowledgedAt = new Map<EntityId, Acknowledged[]>()
  let acknowledged = 0
  const counts: Counts = { operations: 0, acknowledged: 0, failed: 0, unknown: 0, reads: 0, queries: 0 }

  const during = ({ since }: Operation, id: EntityId): readonly State[] => states.during(since, id)
  const fits = (state: State, { matches }: AskedQuery): boolean => state.bag !== null && matches(state.bag)

  function acknowledge(id: EntityId, version: number, { store }: Operation): void {
    // A commit that a failover has lost since is one that nobody is held to.
    const isLost = states.isLost(id, version)
    if (isLost && !options.mayFailOver) {
      check(
        'what was acknowledged is there when its server has crashed',
        `version ${version} of ${id} was acknowledged when a crash had undone it`,
      )
    }
    if (isLost) return
    const known = acknowledgedAt.get(id) ?? []
    acknowledgedAt.set(id, [...known, { version, at: states.moment(), number: ++acknowledged, store }])
  }

  /** Everything that was found was so at some time of the search. */
  function checkFound(operation: Operation, asked: AskedQuery, items: readonly Bag[]): void {
    for (const item of items) {
      const was = during(operation, String(item['id'])).some(
        (state) => fits(state, asked) && state.bag?.['by'] === item['by'],
      )
      check(
        'what is found has matched',
        !was && `${asked.what} gave ${String(item['id'])} as it was not, or did not match, at any time of it`,
      )
    }
  }

  function checkTwice({ what }: AskedQuery, items: readonly Bag[]): void {
    const isTwice = new Set(items.map((item) => item['id'])).size < items.length
    check('what is found is found once', isTwice && `${what} gave an entity twice`)
  }

  function checkLacking(
    operation: Operation,
    asked: AskedQuery,
    items: readonly Bag[],
    names: readonly Check[],
  ): void {
    const found = new Set(items.map((item) => item['id']))
    for (const id of states.ids()) {
      if (!during(operation, id).every((state) => fits(state, asked))) continue
      for (const name of names)
        check(name, !found.has(id) && `${asked.what} lacks ${id}, which matched all the time`)
    }
  }

  function within(operation: Operation, { ms, after = 0 }: Bound): Operation {
    const since = Math.max(after, states.momentBefore(operation.at - ms))
    return { ...operation, since: Math.min(operation.since, since) }
  }

  function checkThere(
    operation: Operation,
    id: EntityId,
    version: number | undefined,
    bag: Bag | undefined,
    name: Check,
  ): void {
    const isRight = during(operation, id).some((state) =>
      bag === undefined ? state.bag === null : state.version === version && state.bag?.['by'] === bag['by'],
    )
    check(name, !isRight && `a read of ${id} gave what it was not at any time of it`)
  }

  /** Where something was found, and there is something to hold it against. */
  function checkKnown(
    { since }: Operation,
    id: EntityId,
    version: number | undefined,
    name: Check,
    isBinding: (write: Acknowledged) => boolean = () => true,
  ): void {
    const known = acknowledgedAt.get(id)?.filter((write) => write.at <= since && isBinding(write)) ?? []
    if (version === undefined || known.length === 0) return
    check(
      name,
      known.some((write) => write.version > version) &&
        `a read of ${id} gave an older version than one acknowledged before`,
    )
  }

  return {
    counts,
    begin: (store) => ({
      number: ++counts.operations,
      since: states.moment(),
      at: options.now(),
      acknowledged,
      store,
    }),
    moment: () => states.moment(),
    within,

    observe() {
      for (const { id, version, bag, before } of states.observe()) {
        if (before > 0) check('versions grow', before > version && `${id} went back to an earlier version`)
        const by = Number(bag?.['by'] ?? 0)
        if (definitelyFailed.has(by))
          check('a write that has failed does not take place', `operation ${by} failed and took place`)
      }
    },

    failedOver() {
      for (const [id, version] of states.fallenBack()) {
        const known = acknowledgedAt.get(id) ?? []
        acknowledgedAt.set(
          id,
          known.filter((write) => write.version <= version),
        )
      }
    },

    serverCrashed() {
      const versions = states.fallenBack()
      for (const [id, known] of acknowledgedAt) {
        const version = versions.get(id) ?? 0
        const lost = known.find((write) => write.version > version)
        check(
          'what was acknowledged is there when its server has crashed',
          lost &&
            `version ${lost.version} of ${id} was acknowledged, and is gone with the crash of its server`,
        )
      }
    },

    acknowledged(operation, id, version, base) {
      counts.acknowledged++
      if (version === 0) return
      const before = states.before(id, version)
      check(
        'an acknowledged write was committed',
        before === undefined && `version ${version} of ${id} was acknowledged and never committed`,
      )
      if (before === undefined) return
      if (base !== undefined) {
        check(
          'a write has replaced the version that it was to replace',
          base !== (before.bag === null ? 0 : before.version) &&
            `version ${version} of ${id} replaced another version than the one it was to replace`,
        )
      }
      acknowledge(id, version, operation)
    },

    deleted(operation, id, wasThere) {
      const possible = during(operation, id)
      const tombstones = possible.slice(1).filter(({ bag }) => bag === null)
      check(
        'a delete takes place where it says so, and there alone',
        wasThere && tombstones.length === 0 && `${id} was said to be deleted and was not`,
        !wasThere && possible.every(({ bag }) => bag !== null) && `${id} was there and was not deleted`,
      )
      // Which one is its own it does not say; the best of them has to last.
      const lasting = tombstones.filter(({ version }) => !states.isLost(id, version))
      const [tombstone] = lasting.length > 0 ? lasting : tombstones
      if (wasThere && tombstone !== undefined && tombstone.version > 0)
        acknowledge(id, tombstone.version, operation)
    },

    failed({ number }) {
      counts.failed++
      definitelyFailed.add(number)
      check(
        'a write that has failed does not take place',
        states.wasCommittedBy(number) && `operation ${number} was reported as failed and took place`,
      )
    },

    refused(operation, { index = '', holder = '' }) {
      const wanted = new Set(operation.wanted && keysIn(index, operation.wanted))
      const had = during(operation, holder).some(
        ({ bag }) => bag !== null && keysIn(index, bag).some((key) => wanted.has(key)),
      )
      check(
        'whoever is refused a key is told of one who has it',
        !had &&
          `operation ${operation.number} was refused a key of ${index} that ${holder} never had meanwhile`,
      )
    },

    read(operation, id, version, bag) {
      counts.reads++
      checkThere(operation, id, version, bag, 'a read gives what was there')
      checkKnown(operation, id, version, 'a read gives nothing older than what was acknowledged before')
    },

    readReplica(operation, id, version, bag, bound) {
      counts.reads++
      const name = 'a read from replicas gives what was there within its bound, and since its token'
      checkThere(within(operation, bound), id, version, bag, name)
      checkKnown(within(operation, bound), id, version, name)
    },

    readCache(operation, id, version, bag, bound) {
      counts.reads++
      checkThere(
        within(operation, bound),
        id,
        version,
        bag,
        'a read through a shared cache gives what was there within its bound',
      )
      const own = 'a read through a shared cache gives nothing older than what its own store had acknowledged'
      // A moment may have had writes that were acknowledged later.
      const isOwn = ({ number, store }: Acknowledged): boolean =>
        store === operation.store && number <= operation.acknowledged
      checkKnown(operation, id, version, own, isOwn)
    },

    queried(operation, asked, { items, cost, cursor }) {
      counts.queries++
      checkFound(operation, asked, items)
      checkTwice(asked, items)
      // Without a cursor it is the whole of what there is.
      if (!cost.complete || cursor !== undefined || !options.promisesRows(operation)) return
      checkLacking(operation, asked, items, [
        'what matched all the time is found',
        ...(cost.indexReads > cost.shards
          ? ([
              'what matched all the time is found where the answer took more than one look at a shard',
            ] as const)
          : []),
        ...(options.mayDefer
          ? (['what matched all the time is found, or the answer says that rows are deferred'] as const)
          : []),
      ])
    },

    queriedReplicas(operation, asked, page, bound, asOf) {
      if (asOf === undefined) return this.queried(operation, asked, page)
      counts.queries++
      const { items, cost, cursor } = page
      const isAfter = bound.after === undefined || states.momentBefore(asOf + ROUNDED_MS + 1) >= bound.after
      check(
        'a page of replicas is as of a moment within its bound, and after its token',
        asOf < operation.at - bound.ms - ROUNDED_MS &&
          `${asked.what} was answered as of ${operation.at - asOf} ms before; the bound was ${bound.ms}`,
        !isAfter && `${asked.what} was answered as of before its token`,
      )
      const since = within(operation, { ms: operation.at - asOf, after: bound.after })
      checkFound(since, asked, items)
      checkTwice(asked, items)
      if (!cost.complete || cursor !== undefined || !options.promisesRows(since)) return
      checkLacking(since, asked, items, ['what has matched since the moment of a page of replicas is found'])
    },

    gotAll(operation, asked, items) {
      counts.queries++
      checkFound(operation, asked, items)
      checkTwice(asked, items)
      // It has no place to say that rows are pending.
      if (options.mayDefer || !options.promisesRows(operation)) return
      checkLacking(operation, asked, items, ['what matched all the time is found'])
    },

    scanned(operation, asked, items) {
      counts.reads++
      checkFound(operation, asked, items)
      checkTwice(asked, items)
      checkLacking(operation, asked, items, ['what matched all the time is found'])
    },

    paged(operation, asked, items, isComplete) {
      counts.queries++
      checkFound(operation, asked, items)
      // What is written meanwhile may be met twice, or missed.
      const still = new Set([...states.ids()].filter((id) => during(operation, id).length === 1))
      const held = items.filter((item) => still.has(String(item['id'])))
      // An entity whose row is still to come is given at an old one that is left of it, and at each of several on several pages.
      if (!isComplete || !options.promisesRows(operation)) return
      checkTwice(asked, held)
      for (const id of still) {
        const [state] = during(operation, id)
        if (state === undefined || !fits(state, asked)) continue
        check(
          'what nobody has written is on one of the pages',
          !held.some((item) => item['id'] === id) &&
            `pages of ${asked.what} lack ${id}, which nobody had written`,
        )
      }
    },

    counted(operation, asked, count, exact) {
      counts.queries++
      const all = [...states.ids()].map((id) => during(operation, id))
      const least = all.filter((possible) => possible.every((state) => fits(state, asked))).length
      const most = all.filter((possible) => possible.some((state) => fits(state, asked))).length
      const isPromised = options.promisesRows(operation) && !options.mayDefer
      if (!exact && !isPromised) return
      check(
        'a count is of what matched',
        exact && count > most && `an exact count of ${asked.what} gave ${count}, there were ${most} at most`,
        isPromised && count < least && `a count of ${asked.what} gave ${count}, there were ${least} at least`,
      )
    },
  }
}
