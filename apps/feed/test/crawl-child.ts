import { sqliteShards } from 'looseleaf'
import { openFeeds } from '../src/crawler/open-feeds.ts'
import { openSite } from '../src/domain/site/site.ts'

/*
 * A crawler as a process of its own, for the test that kills it. Its environment has the folder of the shards (`FOLDER`), the place that it
 * may fetch (`ALLOW`) and the length of its leases (`LEASE_MS`).
 */
const { FOLDER, ALLOW, LEASE_MS } = process.env as Record<'FOLDER' | 'ALLOW' | 'LEASE_MS', string>
const site = await openSite({ shards: sqliteShards({ folder: FOLDER, shards: 2 }), cleaner: false })
openFeeds(site.data, { crawl: true, crawlAllow: [ALLOW], leaseMs: Number(LEASE_MS) })
