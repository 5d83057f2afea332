/**
 * What lives are held to: the name of each check, and the invariants of `docs/spec.md` that it enforces, which name it with
 * this file. Each is a test of this name in `simulation.test.ts`, which fails where the check was broken, or was never made.
 *
 * A check is counted whenever it is really made, on something that could break it (`CheckCounts`).
 */
export const checks = {
  'an acknowledged write was committed': ['1.1', '1.3'],
  'what was acknowledged is there when its server has crashed': ['1.1', '1.4'],
  'a read gives nothing older than what was acknowledged before': ['1.1'],
  'a write that has failed does not take place': ['1.2'],
  'a read gives what was there': ['2.3'],
  'a read from replicas gives what was there within its bound, and since its token': ['4.16'],
  'a page of replicas is as of a moment within its bound, and after its token': ['4.16'],
  'what has matched since the moment of a page of replicas is found': ['4.16'],
  'a read through a shared cache gives what was there within its bound': ['4.17'],
  'a read through a shared cache gives nothing older than what its own store had acknowledged': ['4.17'],
  'versions grow': ['2.1'],
  'a write has replaced the version that it was to replace': ['2.2'],
  'a delete takes place where it says so, and there alone': ['2.3'],
  'no row is missing': ['3.1', '5.1', '5.12'],
  'no row is missing when a process has stopped dead': ['3.2'],
  'no row is missing when a server has crashed': ['1.4'],
  'no row is missing where none but deferred ones may be': ['3.4'],
  'no row is missing when a failover has lost commits of entities': ['3.5'],
  'no row is missing when an operator has repaired what a failover has lost': ['5.7'],
  'no row is missing when a process has begun while a shard was down': ['5.8'],
  'what is found has matched': ['4.1', '4.13'],
  'what is found is found once': ['4.1'],
  'what matched all the time is found': ['4.2'],
  'what matched all the time is found where the answer took more than one look at a shard': ['4.2'],
  'what matched all the time is found, or the answer says that rows are deferred': ['3.4', '4.2'],
  'what nobody has written is on one of the pages': ['4.2'],
  'a count is of what matched': ['4.2'],
  'a table is of one definition for ever': ['5.4'],
  'catalogs agree in the end when a shard has forgotten changes': ['5.6'],
  'no two entities have one key of a unique index': ['3.7'],
  'no two entities have one key when a process has stopped dead': ['3.7'],
  'no two entities have one key when a server has crashed': ['3.7'],
  'no two entities have one key when a failover has lost commits of entities': ['3.7'],
  'no two entities have one key where rows come after their entities': ['3.7'],
  'no two entities that had to claim it have one key while the claims are building': ['3.7'],
  'whoever is committed with a key holds it': ['3.7'],
  'whoever is refused a key is told of one who has it': ['3.7'],
  'who follows has the last state of every entity': ['12.2'],
  'a change is never older than one before of the same entity': ['12.2'],
  'a change that was handed over is not undone by a crash': ['12.2'],
  'one sweep gives every key to an entity that has it': ['6.1'],
  'one sweep makes tables exact': ['6.1'],
  'one sweep makes tables exact where rows come after their entities': ['3.6'],
  'a second sweep finds nothing to do': ['6.1'],
  'nobody throws what nobody expects, or waits for ever': ['6.3'],
} as const satisfies Record<string, readonly `${number}.${number}`[]>

export type Check = keyof typeof checks
/** How often each check was made. */
export type CheckCounts = Record<Check, number>

export const checkNames: readonly Check[] = Object.keys(checks) as Check[]

export function noCheckCounts(): CheckCounts {
  return Object.fromEntries(checkNames.map((name) => [name, 0])) as CheckCounts
}

/** What broke, and in which check. */
export interface BrokenCheck {
  readonly check: Check
  readonly what: string
}

/** The checks of one life. */
export interface Checker {
  readonly counts: CheckCounts
  /** The first that broke; undefined while all hold. */
  readonly broken: BrokenCheck | undefined
  /** Makes a check: it breaks where there is something to say. */
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
