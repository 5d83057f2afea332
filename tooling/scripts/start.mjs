// `npm start`: from a clone to the feed site in a browser. Needs Node >= 20 and npm, nothing else.
import { install } from './lib/install.mjs'
import { node, pnpmCommand } from './lib/project.mjs'
import { requireNode } from './lib/requirements.mjs'
import { run } from './lib/run.mjs'

requireNode()

async function start() {
  const installed = await install()
  if (installed !== 0) return installed
  console.log('Building …')
  const built = await run(
    pnpmCommand('exec', 'turbo', 'run', 'build', '--filter=feed...', '--output-logs=errors-only'),
  )
  if (built !== 0) return built
  return run([node, 'apps/feed/dist/main.js', ...process.argv.slice(2)])
}

process.exitCode = await start()
