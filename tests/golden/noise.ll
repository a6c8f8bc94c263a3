; random numbers begin where the last call ended

; == mul_add
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   access a2 b2 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = const 0.100000001 #3fb99999a0000000
;   %3 f32 = op Mul %1 %2
;   %4 f32 = op Add %0 %3
;   %5 f32 = store a2 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = mul i64 1, %6
  %14 = icmp sge i64 %13, 8388608
  %15 = ptrtoint ptr %12 to i64
  %16 = or i64 0, %15
  %17 = and i64 %16, 63
  %18 = icmp eq i64 %17, 0
  %19 = and i1 %14, %18
  %20 = add i64 %6, 4095
  %21 = lshr i64 %20, 12
  br label %task.head

done:                                             ; preds = %endif8, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %124, %tail.end ]
  %22 = phi i64 [ %2, %work ], [ %123, %tail.end ]
  %23 = icmp slt i64 %task1, %3
  br i1 %23, label %task, label %task.end

task:                                             ; preds = %task.head
  %24 = mul i64 %22, 4096
  %25 = add i64 %24, 4096
  %26 = call i64 @llvm.smin.i64(i64 %25, i64 %6)
  %27 = sub i64 %26, %24
  %28 = and i64 %27, -32
  %29 = add i64 %24, %28
  br i1 %19, label %then, label %else

then:                                             ; preds = %task
  %30 = icmp slt i64 %24, %29
  br i1 %30, label %vector, label %vector.end

vector:                                           ; preds = %vector, %then
  %vector2 = phi i64 [ %24, %then ], [ %68, %vector ]
  %31 = getelementptr float, ptr %8, i64 %vector2
  %32 = load <8 x float>, ptr %31, align 4
  %33 = getelementptr float, ptr %8, i64 %vector2
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = getelementptr float, ptr %8, i64 %vector2
  %37 = getelementptr float, ptr %36, i64 16
  %38 = load <8 x float>, ptr %37, align 4
  %39 = getelementptr float, ptr %8, i64 %vector2
  %40 = getelementptr float, ptr %39, i64 24
  %41 = load <8 x float>, ptr %40, align 4
  %42 = getelementptr float, ptr %10, i64 %vector2
  %43 = load <8 x float>, ptr %42, align 4
  %44 = getelementptr float, ptr %10, i64 %vector2
  %45 = getelementptr float, ptr %44, i64 8
  %46 = load <8 x float>, ptr %45, align 4
  %47 = getelementptr float, ptr %10, i64 %vector2
  %48 = getelementptr float, ptr %47, i64 16
  %49 = load <8 x float>, ptr %48, align 4
  %50 = getelementptr float, ptr %10, i64 %vector2
  %51 = getelementptr float, ptr %50, i64 24
  %52 = load <8 x float>, ptr %51, align 4
  %53 = fmul <8 x float> %43, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %54 = fmul <8 x float> %46, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %55 = fmul <8 x float> %49, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %56 = fmul <8 x float> %52, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %57 = fadd <8 x float> %32, %53
  %58 = fadd <8 x float> %35, %54
  %59 = fadd <8 x float> %38, %55
  %60 = fadd <8 x float> %41, %56
  %61 = getelementptr float, ptr %12, i64 %vector2
  store <8 x float> %57, ptr %61, align 32, !nontemporal !0
  %62 = getelementptr float, ptr %12, i64 %vector2
  %63 = getelementptr float, ptr %62, i64 8
  store <8 x float> %58, ptr %63, align 32, !nontemporal !0
  %64 = getelementptr float, ptr %12, i64 %vector2
  %65 = getelementptr float, ptr %64, i64 16
  store <8 x float> %59, ptr %65, align 32, !nontemporal !0
  %66 = getelementptr float, ptr %12, i64 %vector2
  %67 = getelementptr float, ptr %66, i64 24
  store <8 x float> %60, ptr %67, align 32, !nontemporal !0
  %68 = add i64 %vector2, 32
  %69 = icmp slt i64 %68, %29
  br i1 %69, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %then
  br label %endif

else:                                             ; preds = %task
  %70 = icmp slt i64 %24, %29
  br i1 %70, label %vector3, label %vector.end5

vector3:                                          ; preds = %vector3, %else
  %vector4 = phi i64 [ %24, %else ], [ %108, %vector3 ]
  %71 = getelementptr float, ptr %8, i64 %vector4
  %72 = load <8 x float>, ptr %71, align 4
  %73 = getelementptr float, ptr %8, i64 %vector4
  %74 = getelementptr float, ptr %73, i64 8
  %75 = load <8 x float>, ptr %74, align 4
  %76 = getelementptr float, ptr %8, i64 %vector4
  %77 = getelementptr float, ptr %76, i64 16
  %78 = load <8 x float>, ptr %77, align 4
  %79 = getelementptr float, ptr %8, i64 %vector4
  %80 = getelementptr float, ptr %79, i64 24
  %81 = load <8 x float>, ptr %80, align 4
  %82 = getelementptr float, ptr %10, i64 %vector4
  %83 = load <8 x float>, ptr %82, align 4
  %84 = getelementptr float, ptr %10, i64 %vector4
  %85 = getelementptr float, ptr %84, i64 8
  %86 = load <8 x float>, ptr %85, align 4
  %87 = getelementptr float, ptr %10, i64 %vector4
  %88 = getelementptr float, ptr %87, i64 16
  %89 = load <8 x float>, ptr %88, align 4
  %90 = getelementptr float, ptr %10, i64 %vector4
  %91 = getelementptr float, ptr %90, i64 24
  %92 = load <8 x float>, ptr %91, align 4
  %93 = fmul <8 x float> %83, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %94 = fmul <8 x float> %86, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %95 = fmul <8 x float> %89, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %96 = fmul <8 x float> %92, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %97 = fadd <8 x float> %72, %93
  %98 = fadd <8 x float> %75, %94
  %99 = fadd <8 x float> %78, %95
  %100 = fadd <8 x float> %81, %96
  %101 = getelementptr float, ptr %12, i64 %vector4
  store <8 x float> %97, ptr %101, align 4
  %102 = getelementptr float, ptr %12, i64 %vector4
  %103 = getelementptr float, ptr %102, i64 8
  store <8 x float> %98, ptr %103, align 4
  %104 = getelementptr float, ptr %12, i64 %vector4
  %105 = getelementptr float, ptr %104, i64 16
  store <8 x float> %99, ptr %105, align 4
  %106 = getelementptr float, ptr %12, i64 %vector4
  %107 = getelementptr float, ptr %106, i64 24
  store <8 x float> %100, ptr %107, align 4
  %108 = add i64 %vector4, 32
  %109 = icmp slt i64 %108, %29
  br i1 %109, label %vector3, label %vector.end5

vector.end5:                                      ; preds = %vector3, %else
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end5
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail6 = phi i64 [ %29, %endif ], [ %122, %tail ]
  %110 = icmp slt i64 %tail6, %26
  br i1 %110, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %111 = sub i64 %26, %tail6
  %112 = call i64 @llvm.umin.i64(i64 %111, i64 8)
  %113 = trunc i64 %112 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %113, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %114 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %115 = getelementptr float, ptr %8, i64 %tail6
  %116 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %115, i32 4, <8 x i1> %114, <8 x float> zeroinitializer)
  %117 = getelementptr float, ptr %10, i64 %tail6
  %118 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %117, i32 4, <8 x i1> %114, <8 x float> zeroinitializer)
  %119 = fmul <8 x float> %118, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %120 = fadd <8 x float> %116, %119
  %121 = getelementptr float, ptr %12, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %120, ptr %121, i32 4, <8 x i1> %114)
  %122 = add i64 %tail6, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %123 = add i64 %22, 1
  %124 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %19, label %then7, label %endif8

then7:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif8

endif8:                                           ; preds = %task.end, %then7
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
