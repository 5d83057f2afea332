/**
 * Names of all checks, each with the invariants of `docs/spec.md` that it enforces; the specification quotes
 * the names. Each check is a test of this name in `simulation.test.ts`, which fails if the check broke or was
 * never made.
 *
 * A check counts only if something could have broken it (`CheckCounts`).
 */
export const checks = {
  'an acknowledged write was committed': ['1.1', '1.3'],
  'an acknowledged write survives a crash of its server': ['1.1', '1.4'],
  'a read returns nothing older than earlier acknowledged writes': ['1.1', '8.13'],
  'a failed write never takes place': ['1.2'],
  'a read returns a state that the entity had during the read': ['2.3'],
  'a read from replicas returns a state within its bound and no older than its token': ['4.16'],
  'a page from replicas has a time within its bound and after its token': ['4.16'],
  'a page from replicas has every entity that matched since the time of the page': ['4.16'],
  'a read through a shared cache returns a state within its bound': ['4.17'],
  'a read through a shared cache returns nothing older than writes that its own store acknowledged': ['4.17'],
  'versions of an entity grow': ['2.1', '8.12'],
  'a conditional write replaces the version that it expects': ['2.2'],
  'a batch takes place as a whole or not at all': ['1.9'],
  'a delete reports correctly whether it deleted the entity': ['2.3'],
  'no row is missing': ['3.1', '5.1', '5.12', '8.9'],
  'no row is missing after a process crash': ['3.2'],
  'no row is missing after a server crash': ['1.4'],
  'no row is missing except deferred ones': ['3.4'],
  'no row is missing after a failover that loses commits of entities': ['3.5'],
  'no row is missing after an operator has repaired a failover that lost rows': ['5.7'],
  'no row is missing after a process has started while a shard was down': ['5.8'],
  'a search returns only entities that matched': ['4.1', '4.13'],
  'a search returns each entity once': ['4.1'],
  'a search finds every entity that matched all the time': ['4.2'],
  'a search that reads a shard several times finds every entity that matched all the time': ['4.2'],
  'a search finds every entity that matched all the time, or reports that rows are deferred': ['3.4', '4.2'],
  'an entity that was not written during paging is on one of the pages': ['4.2'],
  'a count covers the entities that matched': ['4.2'],
  'a table never changes its definition': ['5.4'],
  'catalogs converge after a shard has lost changes of the catalog': ['5.6'],
  'no two entities share a key of a unique index': ['3.7'],
  'no two entities share a key after a process crash': ['3.7'],
  'no two entities share a key after a server crash': ['3.7'],
  'no two entities share a key after a failover that loses commits of entities': ['3.7'],
  'no two entities share a key if rows are written after their entities': ['3.7'],
  'no two entities that had to claim a key share it while claims are building': ['3.7'],
  'an entity that is committed with a key holds its claim': ['3.7'],
  'a refusal names an entity that has the key': ['3.7'],
  'a bucket has one owner at most': ['8.8'],
  'copies of a move equal their entities': ['8.12'],
  'moves end, and leave no entity on another shard than its own': ['8.12'],
  'a follower has the last state of every entity': ['12.2', '8.14'],
  'changes of an entity never go back to an older version': ['12.2', '8.14'],
  'a crash never undoes a delivered change': ['12.2'],
  'a consumer has handled the last state of every entity': ['8.14', '12.3'],
  'a consumer gets no older version of an entity after a newer one': ['8.14', '12.3'],
  'a consumer goes on until it is stopped': ['8.14'],
  'after one sweep, an entity with each key holds its claim': ['6.1'],
  'one sweep makes index tables exact': ['6.1'],
  'one sweep makes index tables exact if rows are written after their entities': ['3.6'],
  'a second sweep finds nothing to do': ['6.1'],
  'no call throws an unexpected error or waits for ever': ['6.3'],
} as const satisfies Record<string, readonly `${number}.${number}`[]>

export type Check = keyof typeof checks
/** How often each check was made. */
export type CheckCounts = Record<Check, number>

export const checkNames: readonly Check[] = Object.keys(checks) as Check[]

export function noCheckCounts(): CheckCounts {
  return Object.fromEntries(checkNames.map((name) => [name, 0])) as CheckCounts
}

/** Description of the first violation, and its check. */
export interface BrokenCheck {
  readonly check: Check
  readonly what: string
}

/** The checks of one life. */
export interface Checker {
  readonly counts: CheckCounts
  /** The first violation; undefined while all checks hold. */
  readonly broken: BrokenCheck | undefined
  /** Makes a check. It breaks if any of `wrongs` is a text. */
  check(name: Check, ...wrongs: readonly (string | false | undefined)[]): void
}

export function createChecker(): Checker {
  const counts = noCheckCounts()
  let broken: BrokenCheck | undefined
  return {
    counts,
    get broken() {
      return broken
    },
    check(name, ...wrongs) {
      counts[name]++
      const what = wrongs.filter((wrong) => typeof wrong === 'string')
      if (what.length > 0) broken ??= { check: name, what: what.join('; ') }
    },
  }
}
