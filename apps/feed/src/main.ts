import { serve } from './serve.ts'
import { readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'

try {
  const settings = readSettings(process.argv.slice(2), process.env)
  const site = await serve(settings)
  if (site.seeded > 0) console.log(`The store was new and now contains ${site.seeded} sample entities.`)
  console.log(`The data is in ${settings.place}. Stop with Ctrl+C.`)
  console.log(`Looseleaf is at ${settings.origin ?? site.url}`)
  let stopping = false
  const stop = (): void => {
    // A second signal ends the process without waiting.
    if (stopping) process.exit(1)
    stopping = true
    site.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(describeStartError(error))
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
} catch (error) {
  console.error(`Looseleaf could not start: ${describeStartError(error)}`)
  process.exitCode = 1
}
