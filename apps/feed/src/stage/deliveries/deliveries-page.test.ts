import { createConsole } from '@looseleaf/console'
import { memoryShards } from 'looseleaf'
import { expect, test } from 'vitest'
import { visitConsole } from '../../../test/support.ts'
import { DELIVER, startDeliveries } from '../../delivery/start-deliveries.ts'
import { openSite } from '../../domain/site/site.ts'
import { deliveriesPage } from './deliveries-page.ts'

test('the page of deliveries shows how far each shard is behind, once a process delivers', async () => {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  const page = deliveriesPage(site.store, DELIVER)
  const served = visitConsole(createConsole({ store: site.store, base: '/store', pages: [page] }))
  expect(await served.text('/store/deliveries')).toContain('The shards that answer know of no delivery yet.')
  const deliveries = startDeliveries(site, { onError: () => {} })
  await expect
    .poll(() => served.text('/store/deliveries'), { timeout: 10_000, interval: 50 })
    .toMatch(/memory 0.*behind by|behind by.*memory 0.*memory 1/s)
  await deliveries.stop()
  await site.close()
})
