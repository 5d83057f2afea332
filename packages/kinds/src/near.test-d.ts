// Compiled and never run. Checks the types of `near`, and that mistakes do not compile.
import type { EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { defineKind, typed } from './index.ts'

declare const store: DataStore

interface Job {
  tenant: string
  owner: { id: string }
  queue?: string
  tags: readonly string[]
  rank: number
  body: { text: string }
}
const schema = typed<Job>()

const jobs = defineKind('job', { schema, near: 'tenant' }).in(store)
const typedJobs = defineKind('job', { schema, near: { rank: 'integer' } }).in(store)
const owned = defineKind('job', { schema, near: 'owner.id' }).in(store)
const plain = defineKind('job', { schema }).in(store)

export function ids(): EntityId[] {
  // @ts-expect-error a kind without near takes no place
  plain.newId({ tenant: 'acme' })
  // @ts-expect-error the near property is missing
  jobs.newId({})
  // @ts-expect-error a kind with near needs a place
  jobs.newId()
  // @ts-expect-error the near property has another type
  typedJobs.deriveId('a', { rank: 'x' })
  return [
    jobs.newId({ tenant: 'acme' }),
    jobs.deriveId(['mail', 7], { tenant: 'acme' }),
    typedJobs.newId({ rank: 1 }),
    owned.newId({ owner: { id: 'x' } }),
    plain.newId(),
    plain.deriveId('a'),
  ]
}

// @ts-expect-error The kind has no property "tenent" to be near.
defineKind('job', { schema, near: 'tenent' })
// @ts-expect-error The property queue may be absent or null, and then it decides no place.
defineKind('job', { schema, near: 'queue' })
// @ts-expect-error The property tags holds an array or lies in one, so it decides no single place.
defineKind('job', { schema, near: 'tags' })
// @ts-expect-error The property body holds nothing that an index could be sharded on, so it decides no place.
defineKind('job', { schema, near: 'body' })
// @ts-expect-error The property tenant does not hold the type that near has for it.
defineKind('job', { schema, near: { tenant: 'integer' } })
// @ts-expect-error The kind has no property "tenent" to be near.
defineKind('job', { schema, near: { tenent: 'string' } })
// @ts-expect-error The option near has one property: 'tenant', or { tenant: 'string' }.
defineKind('job', { schema, near: { tenant: 'string', rank: 'integer' } })
