import type { Bag } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import type { Check } from '../checks.ts'
import type { SearchRequest, Bound, Evidence, Operation } from './evidence.ts'
import type { State } from './states.ts'

/** Checks of searches. */
export interface SearchChecks {
  /** Checks the first page of a query. */
  queried(
    operation: Operation,
    request: SearchRequest,
    page: Pick<QueryPage, 'items' | 'cost' | 'cursor'>,
  ): void
  /**
   * Checks the first page of a query from replicas, with its time in milliseconds; undefined if only
   * primaries were read.
   */
  queriedReplicas(
    operation: Operation,
    request: SearchRequest,
    page: Pick<QueryPage, 'items' | 'cost' | 'cursor'>,
    bound: Bound,
    asOf: number | undefined,
  ): void
  /** Checks the complete result of an index. */
  gotAll(operation: Operation, request: SearchRequest, items: readonly Bag[]): void
  /** Checks a scan of all entities, which uses no index. */
  scanned(operation: Operation, request: SearchRequest, items: readonly Bag[]): void
  /** Checks several consecutive pages. */
  paged(operation: Operation, request: SearchRequest, items: readonly Bag[], isComplete: boolean): void
  /** Checks a count; `exact` if it looked at every entity. */
  counted(operation: Operation, request: SearchRequest, count: number, exact: boolean): void
}

/** The time of a page is rounded to whole milliseconds, mostly down. */
const ROUNDED_MS = 2

export function createSearchChecks(evidence: Evidence): SearchChecks {
  const { check, states, counts, during, within } = evidence
  const fits = (state: State, { matches }: SearchRequest): boolean => state.bag !== null && matches(state.bag)

  /** Checks that each result matched at some time of the search. */
  function checkFound(operation: Operation, request: SearchRequest, items: readonly Bag[]): void {
    for (const item of items) {
      const was = during(operation, String(item['id'])).some(
        (state) => fits(state, request) && state.bag?.['by'] === item['by'],
      )
      check(
        'a search returns only entities that matched',
        !was &&
          `${request.what} returned ${String(item['id'])}, which was never so, or never matched, during the search`,
      )
    }
  }

  function checkTwice({ what }: SearchRequest, items: readonly Bag[]): void {
    const isTwice = new Set(items.map((item) => item['id'])).size < items.length
    check('a search returns each entity once', isTwice && `${what} returned an entity twice`)
  }

  function checkLacking(
    operation: Operation,
    request: SearchRequest,
    items: readonly Bag[],
    names: readonly Check[],
  ): void {
    const found = new Set(items.map((item) => item['id']))
    for (const id of states.ids()) {
      if (!during(operation, id).every((state) => fits(state, request))) continue
      for (const name of names)
        check(name, !found.has(id) && `${request.what} lacks ${id}, which matched all the time`)
    }
  }

  return {
    queried(operation, request, { items, cost, cursor }) {
      counts.queries++
      checkFound(operation, request, items)
      checkTwice(request, items)
      // A page without a cursor is the complete result.
      if (!cost.complete || cursor !== undefined || !evidence.promisesRows(operation)) return
      checkLacking(operation, request, items, [
        'a search finds every entity that matched all the time',
        ...(cost.indexReads > cost.shards
          ? ([
              'a search that reads a shard several times finds every entity that matched all the time',
            ] as const)
          : []),
        ...(evidence.mayDefer
          ? ([
              'a search finds every entity that matched all the time, or reports that rows are deferred',
            ] as const)
          : []),
      ])
    },

    queriedReplicas(operation, request, page, bound, asOf) {
      if (asOf === undefined) return this.queried(operation, request, page)
      counts.queries++
      const { items, cost, cursor } = page
      const isAfter = bound.after === undefined || states.momentBefore(asOf + ROUNDED_MS + 1) >= bound.after
      check(
        'a page from replicas has a time within its bound and after its token',
        asOf < operation.at - bound.ms - ROUNDED_MS &&
          `the answer to ${request.what} is ${operation.at - asOf} ms old; the bound was ${bound.ms}`,
        !isAfter && `the answer to ${request.what} is older than its token`,
      )
      const since = within(operation, { ms: operation.at - asOf, after: bound.after })
      checkFound(since, request, items)
      checkTwice(request, items)
      if (!cost.complete || cursor !== undefined || !evidence.promisesRows(since)) return
      checkLacking(since, request, items, [
        'a page from replicas has every entity that matched since the time of the page',
      ])
    },

    gotAll(operation, request, items) {
      counts.queries++
      checkFound(operation, request, items)
      checkTwice(request, items)
      // A count cannot report that rows are pending.
      if (evidence.mayDefer || !evidence.promisesRows(operation)) return
      checkLacking(operation, request, items, ['a search finds every entity that matched all the time'])
    },

    scanned(operation, request, items) {
      counts.reads++
      checkFound(operation, request, items)
      // An entity may come twice if its bucket moves during the scan.
      if (!evidence.mayMove) checkTwice(request, items)
      checkLacking(operation, request, items, ['a search finds every entity that matched all the time'])
    },

    paged(operation, request, items, isComplete) {
      counts.queries++
      checkFound(operation, request, items)
      // An entity that is written during paging may appear twice, or be missed.
      const still = new Set([...states.ids()].filter((id) => during(operation, id).length === 1))
      const held = items.filter((item) => still.has(String(item['id'])))
      // If rows may come later, an entity appears at an old row that is still there, and at each of several
      // rows on several pages.
      if (!isComplete || !evidence.promisesRows(operation)) return
      checkTwice(request, held)
      for (const id of still) {
        const [state] = during(operation, id)
        if (state === undefined || !fits(state, request)) continue
        check(
          'an entity that was not written during paging is on one of the pages',
          !held.some((item) => item['id'] === id) &&
            `pages of ${request.what} lack ${id}, which was not written during paging`,
        )
      }
    },

    counted(operation, request, count, exact) {
      counts.queries++
      const all = [...states.ids()].map((id) => during(operation, id))
      const least = all.filter((possible) => possible.every((state) => fits(state, request))).length
      const most = all.filter((possible) => possible.some((state) => fits(state, request))).length
      const isPromised = evidence.promisesRows(operation) && !evidence.mayDefer
      if (!exact && !isPromised) return
      check(
        'a count covers the entities that matched',
        exact &&
          count > most &&
          `an exact count of ${request.what} returned ${count}; at most ${most} matched`,
        isPromised &&
          count < least &&
          `a count of ${request.what} returned ${count}; at least ${least} matched`,
      )
    },
  }
}
