import type { SiteData } from '../../kinds/site-data.ts'
import { notFound, Problem } from '../../http/problem.ts'

/** Returns the problem of a form that needs an entry: it does not exist, was removed, or else is refused for this reason. */
export async function refusal({ entries }: SiteData, id: string, refused?: Problem): Promise<Problem> {
  const entry = await entries.get(id)
  if (entry === undefined) return notFound('entry')
  if (entry.removed === undefined && refused !== undefined) return refused
  return new Problem(410, 'The author removed this entry', 'Only the comments of others stay.')
}
