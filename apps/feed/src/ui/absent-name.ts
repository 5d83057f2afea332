import type { PageContext } from './page-context.ts'

/** Returns the name of a person or a source that was not found. It may exist if a part of the store does not answer. */
export function absentName({ missingShards }: Pick<PageContext, 'missingShards'>): string {
  return missingShards.length > 0 ? 'A missing name' : 'A former member'
}
