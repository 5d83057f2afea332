import { LooseleafError, type CallOptions, type ShardCatalog, type StorePolicies } from '@looseleaf/core'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine'
import { announceDeferring } from './deferring.ts'

export type PolicyChange = { readonly [Name in keyof StorePolicies]?: StorePolicies[Name] | undefined }

/**
 * What is given when a store is opened: it becomes the policy of a store that has none yet. Throws `LAYOUT_MISMATCH` where
 * the store has another one. While a shard does not answer nothing is compared or changed, and where it would be a warning
 * says so.
 */
export async function agreeOnPolicies(
  context: EngineContext,
  given: PolicyChange,
  onWarning: (message: string) => void,
): Promise<void> {
  const { shards, silent } = context.catalog.current()
  const known = shards.find((shard) => shard !== undefined) as ShardCatalog
  if (silent.length > 0) {
    if (includes(known, given)) return
    onWarning(
      `The policies that were given are not looked at, and those of the store hold: that needs every shard. ${silent[0]?.message}`,
    )
    return
  }
  requireAgreed(known, given)
  if (!includes(known, given)) await makeChange(context, given, (stored) => requireAgreed(stored, given))
}

/**
 * When it resolves, no process commits by what was before. What is left out, or undefined, stays. One that fails may have
 * begun: the next change of the catalog, or the next who opens the store, finishes it.
 */
export async function changePolicies(
  context: EngineContext,
  policies: PolicyChange,
  options?: CallOptions,
): Promise<void> {
  if (includes({}, policies)) return
  await makeChange(context, policies, () => undefined, options)
}

async function makeChange(
  context: EngineContext,
  policies: PolicyChange,
  check: (stored: StoredPolicies) => void,
  options?: CallOptions,
): Promise<void> {
  if (policies.onIndexFailure === 'defer') await announceDeferring(context, options)
  const changed = await changeCatalogContents(
    context.driver,
    (contents) => {
      check(contents)
      return includes(contents, policies) ? undefined : { ...contents, ...withPolicies(contents, policies) }
    },
    { ...options, holds: (contents) => includes(contents, policies) },
  )
  context.catalog.adopt(changed)
}

function requireAgreed(stored: StoredPolicies, given: PolicyChange): void {
  for (const name of ['deleteDelayMs', 'onIndexFailure'] as const) {
    if (given[name] === undefined || stored[name] === undefined || given[name] === stored[name]) continue
    throw new LooseleafError(
      'LAYOUT_MISMATCH',
      `${name} is ${JSON.stringify(stored[name])} for all processes of this store; got ${JSON.stringify(given[name])}. Leave the option out, or change it with \`store.setPolicies\` or \`looseleaf policies\`.`,
    )
  }
}

type StoredPolicies = Pick<ShardCatalog, 'mayDefer' | keyof StorePolicies>

/** What a catalog says when policies are changed, or given to a store that is made. */
export function withPolicies(before: StoredPolicies, change: PolicyChange): StoredPolicies {
  const { deleteDelayMs = before.deleteDelayMs, onIndexFailure = before.onIndexFailure } = change
  const { keepTombstonesMs = before.keepTombstonesMs } = change
  return {
    deleteDelayMs,
    onIndexFailure,
    keepTombstonesMs,
    // It stays for ever, for rows may be pending for long.
    mayDefer: change.onIndexFailure === 'defer' ? true : before.mayDefer,
  }
}

function includes(
  stored: StoredPolicies,
  { deleteDelayMs, onIndexFailure, keepTombstonesMs }: PolicyChange,
): boolean {
  return (
    (keepTombstonesMs === undefined || stored.keepTombstonesMs === keepTombstonesMs) &&
    (deleteDelayMs === undefined || stored.deleteDelayMs === deleteDelayMs) &&
    (onIndexFailure === undefined || stored.onIndexFailure === onIndexFailure)
  )
}
