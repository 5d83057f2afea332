import { reportErrors } from './delivery/report-errors.ts'
import { startDeliveries } from './delivery/start-deliveries.ts'
import { openSite } from './domain/site/site.ts'
import { letPagesGoFirst } from './let-pages-go-first.ts'
import { asksForHelp, readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'
import { stopOnSignal } from './stop-on-signal.ts'
import { usageOf } from './usage.ts'

/*
 * Delivers entries and cleans indexes in a process of its own. Any number of them share the work with each other, and with those of the
 * site.
 */

const args = process.argv.slice(2)
try {
  if (asksForHelp(args)) console.log(usageOf('pnpm --filter feed deliver', ['data']))
  else await start()
} catch (error) {
  console.error(`Deliveries could not start: ${describeStartError(error)}`)
  process.exitCode = 1
}

async function start(): Promise<void> {
  const settings = readSettings(args, process.env)
  letPagesGoFirst()
  const site = await openSite({ shards: settings.shards })
  const deliveries = startDeliveries(site, { onError: reportErrors(console.error) })
  console.log(`Delivers the entries in ${settings.place}. Stop with Ctrl+C.`)
  stopOnSignal(async () => {
    await deliveries.stop()
    await site.close()
  })
}
