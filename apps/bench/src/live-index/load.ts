import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '@looseleaf-tooling/random'
import type { LoadConfig, LoadReport } from './load-types.ts'
import { createPost, postId, userId } from './posts.ts'
import { openPosts } from './post-sides.ts'

/**
 * A steady load, in a process of its own: calls begin at a fixed rate, whatever became of those before, and a call's time
 * counts from when it should have begun.
 */
const config = JSON.parse(process.argv[2] ?? '') as LoadConfig
const random = createRandom(config.seed)
const side = await openPosts(config)
let isOver = false
process.on('message', () => (isOver = true))

const samples: LoadReport['samples'][number][] = []
const errors: Record<string, number> = {}
const running = new Set<Promise<void>>()
let [number, edit] = [config.posts, 0]

async function call(due: number): Promise<void> {
  const dice = random.below(100)
  // Those at both ends share handles.
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
for (let n = 0; !isOver; n++) {
  const due = start + (n * 1000) / config.rate
  const early = due - performance.now()
  if (early > 0) await sleep(early)
  const one = call(due).finally(() => running.delete(one))
  running.add(one)
}
await Promise.all(running)
await side.close()
const report: LoadReport = { samples, errors }
process.send?.(report, () => process.disconnect())
