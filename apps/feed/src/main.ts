import { serve } from './serve.ts'
import { asksForHelp, readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'
import { stopOnSignal } from './stop-on-signal.ts'
import { usageOf } from './usage.ts'

const args = process.argv.slice(2)
try {
  if (asksForHelp(args)) console.log(usageOf('npm start --', ['port', 'data', 'origin']))
  else await start()
} catch (error) {
  console.error(`Looseleaf could not start: ${describeStartError(error)}`)
  process.exitCode = 1
}

async function start(): Promise<void> {
  const settings = readSettings(args, process.env)
  const site = await serve(settings)
  if (site.seeded > 0) console.log(`The store was new and now contains ${site.seeded} sample entities.`)
  console.log(`The data is in ${settings.place}. Stop with Ctrl+C.`)
  console.log(`Looseleaf is at ${settings.origin ?? site.url}`)
  stopOnSignal(() => site.stop())
}
