import { LooseleafError } from '@looseleaf/core'
import { describeArgument, describeKind } from '@looseleaf/core/internal'
import type { QueryOrder } from '../definitions/index-reader.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from './query-types.ts'

/*
 * Options of a page. Each function throws `BAD_QUERY` for an invalid one. `subject` begins the message: `Index entries_by_user`.
 */

export function parseOrder(subject: string, order: unknown): QueryOrder {
  if (order === undefined) return 'asc'
  if (order === 'asc' || order === 'desc') return order
  throw refusal(subject, "order has to be 'asc' or 'desc'", describeKind(order))
}

export function parseLimit(subject: string, limit: unknown): number {
  if (limit === undefined) return DEFAULT_LIMIT
  if (typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw refusal(subject, `limit has to be a whole number from 1 to ${MAX_LIMIT}`, describeArgument(limit))
}

export function parseScatter(subject: string, scatter: unknown): boolean {
  if (scatter === undefined || typeof scatter === 'boolean') return scatter ?? false
  throw refusal(subject, 'scatter has to be true or false', describeKind(scatter))
}

function refusal(subject: string, expected: string, received: string): LooseleafError {
  return new LooseleafError('BAD_QUERY', `${subject}: ${expected}; got ${received}.`)
}
