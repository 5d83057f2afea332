import type { FastifyRequest } from 'fastify'
import { cursorOf } from '../http/request-values.ts'
import type { Paging } from '../ui/older-link.tsx'

/** Returns the position of a request's page in the list that was read for it. */
export function pagingOf(
  request: FastifyRequest,
  { cursor, previous }: Pick<Paging, 'cursor' | 'previous'>,
): Paging {
  return { cursor, previous, paged: cursorOf(request) !== undefined }
}
