import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'

/**
 * Returns the people whose inbox should get an entry, one by one from the follows of now: without those who read its channel at each visit, or
 * have followed it since the entry came.
 */
export async function recipientsOf(
  { follows, services }: SiteData,
  { channel_id, person_id, source_id, arrived }: Entry,
): Promise<ReadonlySet<string>> {
  const channels = [channel_id]
  const people = new Set<string>()
  if (source_id === undefined && person_id !== undefined) people.add(person_id)
  if (source_id !== undefined)
    for await (const service of services.bySource.each({ source_id }))
      if (service.added <= arrived) channels.push(service.person_id)
  for (const channel of channels)
    for await (const follow of follows.byChannel.each({ channel_id: channel }))
      if (follow.pulled_by === undefined && follow.since <= arrived) people.add(follow.person_id)
  return people
}
