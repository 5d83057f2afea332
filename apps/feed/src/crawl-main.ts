import { openFeeds } from './crawler/open-feeds.ts'
import { openSite } from './domain/site/site.ts'
import { letPagesGoFirst } from './let-pages-go-first.ts'
import { asksForHelp, readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'
import { stopOnSignal } from './stop-on-signal.ts'
import { usageOf } from './usage.ts'

/*
 * A crawler without a site. The site itself fetches feeds too, unless FEED_CRAWL is elsewhere; any number of processes may share the work.
 */
const args = process.argv.slice(2)
try {
  if (asksForHelp(args)) console.log(usageOf('pnpm --filter feed crawl', ['data']))
  else await start()
} catch (error) {
  console.error(`The crawler could not start: ${describeStartError(error)}`)
  process.exitCode = 1
}

async function start(): Promise<void> {
  const settings = readSettings(args, process.env)
  letPagesGoFirst()
  const site = await openSite({ shards: settings.shards, cleaner: false })
  const feeds = openFeeds(site.data, { ...settings, crawl: true })
  console.log(`Fetching the sources of ${settings.place}. Stop with Ctrl+C.`)
  stopOnSignal(async () => {
    await feeds.stop()
    await site.close()
  })
}
