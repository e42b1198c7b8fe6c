include $(sort $(wildcard $(BR2_EXTERNAL_BULKHEAD_PATH)/package/*/*.mk))
