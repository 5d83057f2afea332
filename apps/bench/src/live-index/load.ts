import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '@looseleaf-tooling/kit/random'
import type { LoadConfig, LoadReport } from './load-types.ts'
import { createPost, postId, userId } from './posts.ts'
import { openPosts } from './post-sides.ts'

/**
 * Makes a steady load until its parent says stop. Calls start at a fixed rate, whether earlier ones were answered or not, and a
 * call's time counts from when it was due.
 */
const config = JSON.parse(process.argv[2] ?? '') as LoadConfig
const random = createRandom(config.seed)
const side = await openPosts(config)
let isStopped = false
process.on('message', () => (isStopped = true))

const samples: LoadReport['samples'][number][] = []
const errors: Record<string, number> = {}
const running = new Set<Promise<void>>()
let [number, edit] = [config.posts, 0]

async function call(due: number): Promise<void> {
  const dice = random.below(100)
  // Posts at both ends of the numbers share handles. The load must not change these before they are checked.
  const target = config.twins + random.below(config.posts - 2 * config.twins)
  const kind = dice < 40 ? 'get' : dice < 70 ? 'page' : dice < 90 ? 'update' : 'put'
  try {
    if (kind === 'get') await side.get(postId(target))
    else if (kind === 'page') await side.page(userId(target))
    else if (kind === 'update') await side.update(postId(target), createPost(target, ++edit))
    else await side.put(postId(number), createPost(number++))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    errors[`${kind} ${code}`] = (errors[`${kind} ${code}`] ?? 0) + 1
  }
  samples.push({ at: performance.timeOrigin + due, ms: performance.now() - due })
}

process.send?.('ready')
const start = performance.now()
for (let n = 0; !isStopped; n++) {
  const due = start + (n * 1000) / config.rate
  const early = due - performance.now()
  if (early > 0) await sleep(early)
  const calling = call(due).finally(() => running.delete(calling))
  running.add(calling)
}
await Promise.all(running)
await side.close()
const report: LoadReport = { samples, errors }
process.send?.(report, () => process.disconnect())
