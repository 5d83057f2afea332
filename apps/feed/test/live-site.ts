import type { AppOptions } from '../src/app.ts'
import { handleChange } from '../src/delivery/start-deliveries.ts'
import { hybrid } from '../src/delivery/strategy.ts'
import { postEntry } from '../src/domain/entries/entries.ts'
import { follow } from '../src/domain/following/commands.ts'
import { addPeople, openTestSite, type TestSite } from './support.ts'

/** A site of three people, on a port. Mira follows Noor, and Oskar follows nobody. */
export interface LiveSite extends TestSite {
  readonly url: string
  readonly ids: Readonly<Record<'mira' | 'noor' | 'oskar', string>>
  /** Posts a message or a link, and delivers it. Returns its id. */
  post(name: 'mira' | 'noor' | 'oskar', title: string, link?: string): Promise<string>
}

export async function openLiveSite(
  live: AppOptions['live'] = {},
  /** Called with the site before it answers any request. */
  prepare: (site: TestSite) => void = () => {},
): Promise<LiveSite> {
  const site = await openTestSite({ sample: false, live })
  prepare(site)
  const { data } = site.site
  const names = ['mira', 'noor', 'oskar'] as const
  const people = await addPeople(site, names)
  const [mira, noor, oskar] = people.map(({ id }) => id) as [string, string, string]
  const ids = { mira, noor, oskar }
  await follow(data, mira, noor)
  return {
    ...site,
    ids,
    url: await site.app.listen({ port: 0, host: '127.0.0.1' }),
    async post(name, title, link) {
      const id = await postEntry(data, { person_id: ids[name], title, link })
      await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
      return id
    },
  }
}
