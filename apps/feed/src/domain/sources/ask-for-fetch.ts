import { unchanged } from 'looseleaf'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { isGone } from '../site/unless-there.ts'

/** Least time between two fetches of a source that people ask for. */
const MIN_PAUSE_MS = 60_000

/** Makes a source due now. Returns a sentence for people if that is refused; undefined if it is due. */
export async function askForFetch(
  { sources }: SiteData,
  id: string,
  now: Date = new Date(),
): Promise<string | undefined> {
  let refusal: string | undefined
  try {
    await sources.update(id, (source) => {
      refusal = refusalOf(source, now.getTime())
      return refusal === undefined ? { next_check: now } : unchanged
    })
  } catch (error) {
    if (!isGone(error)) throw error
    return 'There is no such source any more.'
  }
  return refusal
}

function refusalOf(source: Omit<Source, 'id' | 'version'>, now: number): string | undefined {
  const { stripe, same_as, leased_until, wait_until, checked } = source
  if (stripe === undefined)
    return 'The site does not fetch this source: its entries are from an imported file.'
  if (same_as !== undefined) return 'The site fetches this feed for another source.'
  if (isAfter(leased_until, now)) return 'The site is fetching this source just now.'
  if (isAfter(wait_until, now)) return 'Its server has asked the site to wait.'
  if (isAfter(checked, now - MIN_PAUSE_MS)) return 'The site has fetched this source less than a minute ago.'
  return undefined
}

function isAfter(time: Date | undefined, than: number): boolean {
  return time !== undefined && time.getTime() > than
}
